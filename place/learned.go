package place

import (
	"fmt"
	"io"
	"strings"
)

// A Bucket is a set of situations that are learned about together: whether
// there was a device, and how full memories were. A band is a range of that, 0
// below 0.5, 1 below 0.75, 2 below 0.9, 3 above.
type Bucket struct {
	GPU  bool `json:"gpu_available"`
	VRAM int  `json:"vram_band"`
	RAM  int  `json:"ram_band"`
}

// Explanations say which backend was preferred where, and why.
type Explanations struct {
	File    LearningFile
	Buckets []BucketExplanation // one, or those of the file in order
}

// A LearningFile says what loading a file of what was learned found.
type LearningFile struct {
	Status  string // "Ok", "Missing" or "Foreign": of another version
	Skipped int    // lines, not blank, that were not understood or are damaged
	First   error  // the first of them; nil if there is none
	Err     error  // why the file is foreign
}

// A BucketExplanation is what was learned about one bucket.
type BucketExplanation struct {
	Bucket
	Learned     bool // false: nothing, and the rest is empty
	Explanation Explanation
	Factors     Factors
	Narrative   string // the same as text of three paragraphs
	Entries     []LearnedEntry
}

// A LearnedEntry is what the table has of a backend in a bucket.
type LearnedEntry struct {
	Backend     string `json:"backend"`             // "Cpu" or "Gpu"
	Recommended string `json:"recommended_backend"` // of the bucket
	Stats       struct {
		Episodes     uint32  `json:"episodes"`
		Successes    uint32  `json:"successes"`
		DriftEvents  uint32  `json:"drift_events"`
		AverageScore float32 `json:"average_score"` // 0 is the processor's, 10 twice as fast or faster, -10 half as fast or slower
	} `json:"stats"`
}

// An Explanation says what is preferred in a bucket, how sure that is, and why.
type Explanation struct {
	RecommendedBackend string  `json:"recommended_backend"` // "Cpu" or "Gpu"
	Confidence         float32 `json:"confidence"`          // successes over episodes, 0 to 1
	Text               string  `json:"explanation"`
}

// Factors are an [Explanation] in numbers.
type Factors struct {
	RecommendedBackend string   `json:"recommended_backend"` // "Cpu" or "Gpu"
	Confidence         float32  `json:"confidence"`          // successes over episodes, 0 to 1
	Factors            []Factor `json:"factors"`             // always four, of the same kinds
}

// A Factor is one reason with its weight.
type Factor struct {
	Kind        string  `json:"kind"`   // such as "HistoricalSuccessRate"
	Weight      float32 `json:"weight"` // 0 to 1
	Description string  `json:"description"`
}

// noLearning is said where nothing was learned.
const noLearning = "No learned data available for the given context."

// WriteText writes the narrative.
func (x *BucketExplanation) WriteText(w io.Writer) error {
	text := noLearning
	if x.Learned {
		text = x.Narrative
	}
	_, err := fmt.Fprintln(w, text)
	return err
}

// WriteFactors writes the numbers behind the narrative.
func (x *BucketExplanation) WriteFactors(w io.Writer) error {
	if !x.Learned {
		return x.WriteText(w)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s preferred, confidence %.2f\n", strings.ToUpper(x.Factors.RecommendedBackend), float64(x.Factors.Confidence))
	for _, f := range x.Factors.Factors {
		fmt.Fprintf(&b, "  %-21s  %.2f  %s\n", f.Kind, float64(f.Weight), f.Description)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Counts says whose executions the sentences count where they name a backend on which
// nothing ran, as the design's own sentences do; "" = that of the counts.
func (x *BucketExplanation) Counts() string {
	gpu, cpu := uint64(0), uint64(0)
	for _, e := range x.Entries {
		if e.Backend == "Gpu" {
			gpu += uint64(e.Stats.Episodes)
		} else {
			cpu += uint64(e.Stats.Episodes)
		}
	}
	switch prefers := x.Explanation.RecommendedBackend == "Gpu"; {
	case gpu == 0 && prefers:
		return "nothing ran on a GPU here: the executions that are counted are the CPU's, and a GPU is preferred to them untried"
	case gpu == 0 && strings.Contains(x.Explanation.Text, "instability or drift"):
		return "nothing ran on a GPU here: what drifted are the CPU's executions"
	case gpu > 0 && gpu >= cpu && !prefers:
		return "the executions that are counted are the GPU's"
	}
	return ""
}

// Title names a bucket as the flags of "atenia explain" do.
func (x *BucketExplanation) Title() string {
	return fmt.Sprintf("gpu-available=%v vram-band=%d ram-band=%d", x.GPU, x.VRAM, x.RAM)
}

// ParseBucket reads a bucket from the values of three flags, each exactly as
// "atenia explain" wants it: true or false, and 0 to 3.
func ParseBucket(gpu, vram, ram string) (b Bucket, ok bool) {
	gpus := map[string]bool{"true": true, "false": false}
	bands := map[string]int{"0": 0, "1": 1, "2": 2, "3": 3}
	g, okG := gpus[gpu]
	v, okV := bands[vram]
	r, okR := bands[ram]
	return Bucket{GPU: g, VRAM: v, RAM: r}, okG && okV && okR
}
