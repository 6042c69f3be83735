package atenia

import (
	"fmt"
	"io"
	"strings"

	"atenia/tier/learn"
)

// An ExplainConfig says what [Explain] explains.
type ExplainConfig struct {
	Learning string       // the file of what was learned; "" is an empty one
	Bucket   learn.Bucket // ignored if All is set
	All      bool         // every bucket of the file
}

// Explanations say which backend was preferred where, and why.
type Explanations struct {
	File    learn.Report
	Buckets []BucketExplanation // one, or those of the file in order
}

// A BucketExplanation is what was learned about one bucket.
type BucketExplanation struct {
	learn.Bucket
	Learned     bool // false: nothing, and the rest is empty
	Explanation learn.Explanation
	Factors     learn.Structured
	Narrative   string
}

// Explain explains what a learning file says. A file that is missing, or of
// another version, says nothing; one that cannot be read is an error.
func Explain(cfg *ExplainConfig) (*Explanations, error) {
	var t learn.Trainer
	e := &Explanations{File: learn.Report{Status: learn.StatusMissing}}
	if cfg.Learning != "" {
		t, e.File = learn.Load(cfg.Learning)
	}
	if e.File.Status == learn.StatusUnreadable {
		return nil, e.File.Err
	}
	of := []learn.Bucket{cfg.Bucket}
	if cfg.All {
		of = t.Buckets()
	}
	for _, b := range of {
		x := BucketExplanation{Bucket: b}
		x.Explanation, x.Learned = t.Explain(b)
		if x.Learned {
			x.Factors, _ = t.Factors(b)
			x.Narrative, _ = t.Narrative(b)
		}
		e.Buckets = append(e.Buckets, x)
	}
	return e, nil
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
	fmt.Fprintf(&b, "%s preferred, confidence %.2f\n", x.Factors.RecommendedBackend.Upper(), float64(x.Factors.Confidence))
	for _, f := range x.Factors.Factors {
		fmt.Fprintf(&b, "  %-21s  %.2f  %s\n", f.Kind, float64(f.Weight), f.Description)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Title names a bucket as the flags of "atenia explain" do.
func (x *BucketExplanation) Title() string {
	return fmt.Sprintf("gpu-available=%v vram-band=%d ram-band=%d", x.GPU, x.VRAM, x.RAM)
}

// SetBucket sets the bucket from the values of the three flags, each exactly as
// "atenia explain" wants it: true or false, and 0 to 3.
func (cfg *ExplainConfig) SetBucket(gpu, vram, ram string) bool {
	gpus := map[string]bool{"true": true, "false": false}
	bands := map[string]learn.Band{"0": 0, "1": 1, "2": 2, "3": 3}
	g, okG := gpus[gpu]
	v, okV := bands[vram]
	r, okR := bands[ram]
	cfg.Bucket = learn.Bucket{GPU: g, VRAM: v, RAM: r}
	return okG && okV && okR
}
