package decide

import (
	"fmt"
	"math"
	"strings"
)

// An Explanation says which backend a bucket prefers, with what confidence, and
// why.
type Explanation struct {
	RecommendedBackend Backend `json:"recommended_backend"`
	Confidence         float32 `json:"confidence"` // successes over episodes, 0 to 1
	Text               string  `json:"explanation"`
}

// Explain explains a bucket; false if it has no episodes. It describes the row
// with more episodes, the device's in case of a tie.
func (t *Trainer) Explain(b Bucket) (Explanation, bool) {
	s, ok := t.representative(b)
	if !ok {
		return Explanation{}, false
	}
	e := Explanation{RecommendedBackend: t.Recommend(b), Confidence: share(s.Success, s.Count)}
	if e.RecommendedBackend == GPU {
		drift := "low drift"
		if s.Drift > 0 {
			drift = "some drift observed"
		}
		e.Text = fmt.Sprintf("GPU was selected because this context has been observed %d times, with %d successful executions and %s. "+
			"Historical performance favors GPU execution under similar memory conditions.", s.Count, s.Success, drift)
		return e, true
	}
	why := "historical data does not strongly favor GPU"
	if gpu, _ := t.Stats(b, GPU); s.Drift > 0 || gpu.Drift > 0 {
		why = "GPU execution in this context showed instability or drift"
	}
	e.Text = fmt.Sprintf("CPU was selected because %s. Historical data indicates CPU is more reliable under the current memory pressure, "+
		"based on %d observations.", why, s.Count)
	return e, true
}

// representative returns the row that [Trainer.Explain] describes.
func (t *Trainer) representative(b Bucket) (Stats, bool) {
	cpu, okCPU := t.Stats(b, CPU)
	gpu, okGPU := t.Stats(b, GPU)
	if okGPU && (!okCPU || gpu.Count >= cpu.Count) {
		return gpu, true
	}
	return cpu, okCPU
}

// share returns part/whole, 0 to 1; 0 if whole is 0.
func share(part, whole uint32) float32 {
	if whole == 0 {
		return 0
	}
	return clamp(float32(part) / float32(whole))
}

// A FactorKind names an argument for or against a recommendation.
type FactorKind string

// The factors, in the order of [Trainer.Factors].
const (
	historicalSuccessRate FactorKind = "HistoricalSuccessRate"
	driftPenalty          FactorKind = "DriftPenalty"
	observationCount      FactorKind = "ObservationCount"
	memoryStability       FactorKind = "MemoryStability"
)

// factorNames gives the factors' names in sentences.
var factorNames = [...]struct {
	kind FactorKind
	name string
}{
	{historicalSuccessRate, "historical success"},
	{driftPenalty, "drift impact"},
	{observationCount, "observation count"},
	{memoryStability, "memory stability"},
}

// A Factor is one argument with its weight, 0 to 1.
type Factor struct {
	Kind        FactorKind `json:"kind"`
	Weight      float32    `json:"weight"`
	Description string     `json:"description"`
}

// A Structured explanation is an [Explanation] as numbers.
type Structured struct {
	RecommendedBackend Backend  `json:"recommended_backend"`
	Confidence         float32  `json:"confidence"`
	Factors            []Factor `json:"factors"` // always four, in the order of the constants
}

// Factors explains a bucket in numbers, from the same row as [Trainer.Explain].
func (t *Trainer) Factors(b Bucket) (Structured, bool) {
	s, ok := t.representative(b)
	if !ok {
		return Structured{}, false
	}
	const enough = 50 // episodes at which confidence no longer grows
	drift := share(s.Drift, s.Count)
	rate := float32(0)
	if s.Count > 0 {
		rate = float32(s.Success) / float32(s.Count)
	}
	driftText, stability := "No drift has been observed in this context.", "Memory has been stable in this context."
	if s.Drift > 0 {
		driftText = fmt.Sprintf("Drift was observed in %d of %d episodes, which indicates instability.", s.Drift, s.Count)
		stability = "Memory has shown some instability in this context."
	}
	return Structured{
		RecommendedBackend: t.Recommend(b),
		Confidence:         share(s.Success, s.Count),
		Factors: []Factor{
			{historicalSuccessRate, clamp(rate), fmt.Sprintf("Historical success rate for this context is %.2f (%d successes over %d episodes).", float64(rate), s.Success, s.Count)},
			{driftPenalty, drift, driftText},
			{observationCount, share(s.Count, enough), fmt.Sprintf("%d observations in total; more data raises confidence.", s.Count)},
			{memoryStability, 1 - drift, stability},
		},
	}, true
}

// weight returns the weight of a factor, 0 if absent.
func (s *Structured) weight(k FactorKind) float32 {
	for _, f := range s.Factors {
		if f.Kind == k {
			return f.Weight
		}
	}
	return 0
}

// narrative returns an explanation and its factors in three paragraphs.
func narrative(e Explanation, s Structured) string {
	percent := int(math.Floor(float64(clamp(e.Confidence)*100) + 0.5))
	var b strings.Builder
	fmt.Fprintf(&b, "Atenia selected %s execution with a confidence of %d%%. %s\n\n", e.RecommendedBackend.Upper(), percent, strings.TrimSpace(e.Text))
	fmt.Fprintf(&b, "The decision is based on a %s historical success rate under similar memory conditions. ",
		level(s.weight(historicalSuccessRate), "strong", "moderate", "limited"))
	if s.weight(driftPenalty) > 0 {
		b.WriteString("Some drift or instability has been observed in this context.")
	} else {
		b.WriteString("No significant drift or instability has been observed in this context.")
	}
	b.WriteString("\n\nKey contributing factors include")
	for _, f := range factorNames {
		fmt.Fprintf(&b, " %s factor has %s influence.", f.name, level(s.weight(f.kind), "high", "medium", "low"))
	}
	return b.String()
}

// level returns the word for a weight.
func level(w float32, high, medium, low string) string {
	switch {
	case w >= 0.75:
		return high
	case w >= 0.40:
		return medium
	}
	return low
}

// Narrative explains a bucket in prose; false if it has no episodes.
func (t *Trainer) Narrative(b Bucket) (string, bool) {
	e, ok := t.Explain(b)
	if !ok {
		return "", false
	}
	s, _ := t.Factors(b)
	return narrative(e, s), true
}
