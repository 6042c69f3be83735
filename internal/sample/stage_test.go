package sample

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// checkStages compares what is left to choose from with the reference.
func checkStages(t *testing.T, p Params, logits []float32, past []int32) {
	t.Helper()
	s := newSampler(t, p, len(logits), past...)
	ch, err := s.Sample(logits)
	if err != nil {
		t.Fatal(err)
	}
	want := refStages(p, logits, past)
	got := slices.Clone(s.c)
	slices.SortFunc(got, compare)
	refSort(want, likeliest)
	if len(got) != len(want) {
		t.Fatalf("%+v: %d tokens left, want %d", p, len(got), len(want))
	}
	for i, w := range want {
		if g := got[i]; g.id != w.ID || math.Abs(float64(g.logit)-w.Logit) > 1e-6*max(1, math.Abs(w.Logit)) {
			t.Fatalf("%+v: rank %d: got token %d with logit %v, want %d with %v", p, i, g.id, g.logit, w.ID, w.Logit)
		}
	}
	if !slices.ContainsFunc(want, func(x refToken) bool { return x.ID == ch.ID }) {
		t.Fatalf("%+v: chose %d, which is not left", p, ch.ID)
	}
}

// repetitive is a history over few tokens, so that DRY and counts see much.
func repetitive(r *rand.Rand, n, tokens int) []int32 {
	past := make([]int32, n)
	for i := range past {
		past[i] = int32(r.IntN(tokens))
	}
	return past
}

func TestStages(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	breakers := [][]int32{{3}, {4, 5}, {4}, {1, 2, 1}}
	cases := map[string][]Params{
		"none":        {{Temperature: 1}},
		"top-k":       {{TopK: 1}, {TopK: 2}, {TopK: 40}, {TopK: 299}, {TopK: 300}, {TopK: 1000}, {TopK: -1}},
		"top-p":       {{TopP: 1e-6}, {TopP: 0.1}, {TopP: 0.5}, {TopP: 0.95}, {TopP: 0.9999}, {TopP: 1}},
		"min-p":       {{MinP: 1e-6}, {MinP: 0.05}, {MinP: 0.5}, {MinP: 1}},
		"typical":     {{Typical: 1e-6}, {Typical: 0.2}, {Typical: 0.9}, {Typical: 0.999}, {Typical: 1}},
		"temperature": {{Temperature: 0.1}, {Temperature: 3}},
		"penalties": {{RepeatPenalty: 1.3}, {RepeatPenalty: 0.7, RepeatLast: 5}, {FrequencyPenalty: 0.4, RepeatLast: -1},
			{PresencePenalty: -0.6, RepeatLast: 1}, {RepeatPenalty: 1.1, FrequencyPenalty: 0.2, PresencePenalty: 0.3, RepeatLast: 200}},
		"dry": {{DRY: DRY{Multiplier: 0.8}}, {DRY: DRY{Multiplier: 0.5, Base: 1.2, AllowedLength: 1}},
			{DRY: DRY{Multiplier: 1, Range: 20}}, {DRY: DRY{Multiplier: 1, Breakers: breakers}},
			{DRY: DRY{Multiplier: 1, AllowedLength: 1, Breakers: breakers[1:], Range: 60}}},
		"bias": {{LogitBias: map[int32]float32{0: 3, 299: -4}}},
	}
	for name, list := range cases {
		t.Run(name, func(t *testing.T) {
			for i, p := range list {
				if p.Temperature == 0 {
					p.Temperature = 1
				}
				for seed := range uint64(8) {
					past := repetitive(r, 10*int(seed), 2+i+int(seed))
					checkStages(t, p, randomLogits(seed, 300), past)
				}
			}
		})
	}
}

// TestOrder runs random parameters through random orders, some of them partial.
func TestOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	f := func(low, high float64) float32 { return float32(low + r.Float64()*(high-low)) }
	for i := range 400 {
		p := Params{
			Temperature: f(0.3, 2), TopP: f(0.3, 1), MinP: f(0, 0.1), Typical: f(0.3, 1), TopK: r.IntN(150),
			RepeatPenalty: f(0.8, 1.5), FrequencyPenalty: f(-0.2, 0.5), PresencePenalty: f(-0.2, 0.5), RepeatLast: r.IntN(100) - 10,
			DRY: DRY{Multiplier: f(0, 1), AllowedLength: r.IntN(4), Range: r.IntN(80), Breakers: [][]int32{{2}, {0, 1}}},
		}
		p.Order = DefaultOrder()
		r.Shuffle(len(p.Order), func(i, j int) { p.Order[i], p.Order[j] = p.Order[j], p.Order[i] })
		p.Order = p.Order[:1+r.IntN(len(p.Order))]
		checkStages(t, p, randomLogits(uint64(i), 200), repetitive(r, r.IntN(120), 2+r.IntN(6)))
	}
}

func TestStageText(t *testing.T) {
	text, err := json.Marshal(DefaultOrder())
	if err != nil {
		t.Fatal(err)
	}
	if want := `["penalties","dry","top-k","typical","top-p","min-p","xtc","temperature"]`; string(text) != want {
		t.Errorf("got %s, want %s", text, want)
	}
	var back []Stage
	if err := json.Unmarshal(text, &back); err != nil || !slices.Equal(back, DefaultOrder()) {
		t.Errorf("read back %v, %v", back, err)
	}
	if _, err := ParseStage("top-q"); err == nil {
		t.Error("unknown name: no error")
	}
	if _, err := Stage(200).MarshalText(); err == nil {
		t.Error("unknown stage: no error")
	}
	if got := fmt.Sprint(Stage(200)); got != "stage(200)" {
		t.Errorf("got %s", got)
	}
}

// TestHugePenalties: what a penalty or a temperature pushes out of float32 is
// still possible, unless the model or a bias forbade it.
func TestHugePenalties(t *testing.T) {
	for _, p := range []Params{
		{Temperature: 1, FrequencyPenalty: math.MaxFloat32},
		{Temperature: 1e-44},
		{Temperature: 1, RepeatPenalty: math.SmallestNonzeroFloat32},
		{Temperature: 1, DRY: DRY{Multiplier: 1, Base: math.MaxFloat32, AllowedLength: 1}},
	} {
		s := newSampler(t, p, 2, 1, 1, 1, 1, 1, 1, 1, 1)
		ch, err := s.Sample([]float32{negInf, 5})
		if err != nil || ch.ID != 1 {
			t.Errorf("%+v: got %d, %v", p, ch.ID, err)
		}
	}
}
