package atenia

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"atenia/internal/policy/decide"
)

// An ExplainConfig says what [Explain] explains.
type ExplainConfig struct {
	Learning string // the file of what was learned, see [Observation]; "" is an empty one
	Bucket   Bucket // ignored if All is set
	All      bool   // every bucket of the file
}

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

// Explain reports what was learned about backends from the latencies of earlier
// runs, which [Observation].Learning recorded: which backend is preferred in
// which situation, how sure that is, and why.
//
// A file that is missing, or of another version, is no error: File says so, and
// nothing is learned. With All a row that has more successes than runs is damaged,
// and skipped as others are that cannot be read. A file that cannot be read is an
// error.
func Explain(cfg *ExplainConfig) (*Explanations, error) {
	var t decide.Trainer
	r := decide.Report{Status: decide.StatusMissing}
	if cfg.Learning != "" {
		t, r = decide.Load(cfg.Learning)
	}
	if r.Status == decide.StatusUnreadable {
		return nil, r.Err
	}
	e := &Explanations{File: LearningFile{Status: string(r.Status), Skipped: r.Skipped, Err: r.Err}}
	if cfg.All { // what is said of one bucket is the seed's, whose rows may be of any kind
		e.File.Skipped += r.Damaged
		t = t.Sound()
	}
	if r.First.Line > 0 && e.File.Skipped > 0 {
		e.File.First = r.First
	}
	buckets := []decide.Bucket{{GPU: cfg.Bucket.GPU, VRAM: decide.Band(cfg.Bucket.VRAM), RAM: decide.Band(cfg.Bucket.RAM)}}
	if cfg.All {
		buckets = t.Buckets()
	}
	for _, b := range buckets {
		e.Buckets = append(e.Buckets, explainBucket(&t, b))
	}
	return e, nil
}

func explainBucket(t *decide.Trainer, b decide.Bucket) BucketExplanation {
	x := BucketExplanation{Bucket: Bucket{b.GPU, int(b.VRAM), int(b.RAM)}}
	e, learned := t.Explain(b)
	if !learned {
		return x
	}
	s, _ := t.Factors(b)
	x.Learned = true
	x.Explanation = Explanation{e.RecommendedBackend.String(), e.Confidence, e.Text}
	x.Factors = Factors{s.RecommendedBackend.String(), s.Confidence, convertAll(s.Factors, func(f decide.Factor) Factor {
		return Factor{string(f.Kind), f.Weight, f.Description}
	})}
	x.Narrative, _ = t.Narrative(b)
	return x
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

// Title names a bucket as the flags of "atenia explain" do.
func (x *BucketExplanation) Title() string {
	return fmt.Sprintf("gpu-available=%v vram-band=%d ram-band=%d", x.GPU, x.VRAM, x.RAM)
}

// SetBucket sets the bucket from the values of the three flags, each exactly as
// "atenia explain" wants it: true or false, and 0 to 3.
func (cfg *ExplainConfig) SetBucket(gpu, vram, ram string) bool {
	gpus := map[string]bool{"true": true, "false": false}
	bands := map[string]int{"0": 0, "1": 1, "2": 2, "3": 3}
	g, okG := gpus[gpu]
	v, okV := bands[vram]
	r, okR := bands[ram]
	cfg.Bucket = Bucket{GPU: g, VRAM: v, RAM: r}
	return okG && okV && okR
}

// A ReplayReport is what came out of a log.
type ReplayReport struct {
	Records     int                `json:"records"`
	Differences []ReplayDifference `json:"differences"`
	// Whole says that the log has its end mark. Otherwise Cut says where it ends:
	// its writer was killed, or still runs. The records that it has were replayed.
	Whole bool  `json:"whole"`
	Cut   error `json:"-"`
}

// A ReplayDifference is a record that did not come out as it stands in the log.
type ReplayDifference struct {
	Line      int           `json:"line"` // from 1
	Seq       uint64        `json:"seq"`
	Component string        `json:"component"`
	Fields    []ReplayField `json:"fields"`
}

// A ReplayField is a field that differs. Where a record cannot be made again,
// there is one whose name is "error".
type ReplayField struct {
	Name     string `json:"field"`
	Recorded string `json:"recorded"`
	Replayed string `json:"replayed"`
}

// Replay makes every decision of a log again, from its recorded inputs and with
// the functions that made it, and reports the records that do not come out the
// same, byte for byte. With a policy, a name of [ReplayPolicies] or assignments
// such as "budget.ram=8000000000", it reports what would have been decided
// differently. A log that is damaged is an error.
func Replay(log io.Reader, policy string) (*ReplayReport, error) {
	if policy == "" {
		return newReplayReport(decide.CheckLog(log))
	}
	r, err := decide.WhatIf(log, policy)
	if errors.Is(err, decide.ErrPolicy) {
		names := []string{}
		for _, p := range ReplayPolicies() {
			names = append(names, p[0])
		}
		err = &ConfigError{"policy", policy, "one of " + strings.Join(names, ", ") + ", or COMPONENT.INPUT=VALUE with a value that the input can have"}
	}
	return newReplayReport(r, err)
}

func newReplayReport(r *decide.ReplayReport, err error) (*ReplayReport, error) {
	if r == nil {
		return nil, err
	}
	out := &ReplayReport{Records: r.Records, Differences: convertAll(r.Differences, func(d decide.Difference) ReplayDifference {
		fields := convertAll(d.Fields, func(f decide.Field) ReplayField { return ReplayField(f) })
		return ReplayDifference{d.Line, d.Seq, d.Component, fields}
	})}
	if out.Whole = err == nil && r.Cut == nil; r.Cut != nil {
		out.Cut = r.Cut
	}
	return out, err
}

// ReplayPolicies lists the policies that [Replay] knows by name, each with what
// it changes.
func ReplayPolicies() [][2]string { return decide.Policies() }
