package atenia

import (
	"errors"
	"io"
	"strings"

	"atenia/internal/policy/decide"
	"atenia/place"
)

// An ExplainConfig says what [Explain] explains.
type ExplainConfig struct {
	Learning string       // the file of what was learned, see [Observation]; "" is an empty one
	Bucket   place.Bucket // ignored if All is set
	All      bool         // every bucket of the file
}

// Explain reports what was learned about backends from the latencies of earlier
// runs, which [Observation].Learning recorded: which backend is preferred in
// which situation, how sure that is, and why.
//
// A file that is missing, or of another version, is no error: File says so, and
// nothing is learned. With All a row that has more successes than runs is damaged,
// and skipped as others are that cannot be read. A file that cannot be read is an
// error.
func Explain(cfg *ExplainConfig) (*place.Explanations, error) {
	var t decide.Trainer
	r := decide.Report{Status: decide.StatusMissing}
	if cfg.Learning != "" {
		t, r = decide.Load(cfg.Learning)
	}
	if r.Status == decide.StatusUnreadable {
		return nil, r.Err
	}
	e := &place.Explanations{File: place.LearningFile{Status: string(r.Status), Skipped: r.Skipped, Err: r.Err}}
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

func explainBucket(t *decide.Trainer, b decide.Bucket) place.BucketExplanation {
	x := place.BucketExplanation{Bucket: place.Bucket{GPU: b.GPU, VRAM: int(b.VRAM), RAM: int(b.RAM)}}
	e, learned := t.Explain(b)
	if !learned {
		return x
	}
	s, _ := t.Factors(b)
	x.Learned = true
	x.Explanation = place.Explanation{RecommendedBackend: e.RecommendedBackend.String(), Confidence: e.Confidence, Text: e.Text}
	x.Factors = place.Factors{RecommendedBackend: s.RecommendedBackend.String(), Confidence: s.Confidence, Factors: convertAll(s.Factors, func(f decide.Factor) place.Factor {
		return place.Factor{Kind: string(f.Kind), Weight: f.Weight, Description: f.Description}
	})}
	x.Narrative, _ = t.Narrative(b)
	return x
}

// SetBucket sets the bucket from the values of the three flags, each exactly as
// "atenia explain" wants it: true or false, and 0 to 3.
func (cfg *ExplainConfig) SetBucket(gpu, vram, ram string) bool {
	gpus := map[string]bool{"true": true, "false": false}
	bands := map[string]int{"0": 0, "1": 1, "2": 2, "3": 3}
	g, okG := gpus[gpu]
	v, okV := bands[vram]
	r, okR := bands[ram]
	cfg.Bucket = place.Bucket{GPU: g, VRAM: v, RAM: r}
	return okG && okV && okR
}

// Replay makes every decision of a log again, from its recorded inputs and with
// the functions that made it, and reports the records that do not come out the
// same, byte for byte. With a policy, a name of [ReplayPolicies] or assignments
// such as "budget.ram=8000000000", it reports what would have been decided
// differently. A log that is damaged is an error.
func Replay(log io.Reader, policy string) (*place.ReplayReport, error) {
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

func newReplayReport(r *decide.ReplayReport, err error) (*place.ReplayReport, error) {
	if r == nil {
		return nil, err
	}
	out := &place.ReplayReport{Records: r.Records, Differences: convertAll(r.Differences, func(d decide.Difference) place.ReplayDifference {
		fields := convertAll(d.Fields, func(f decide.Field) place.ReplayField { return place.ReplayField(f) })
		return place.ReplayDifference{Line: d.Line, Seq: d.Seq, Component: d.Component, Fields: fields}
	})}
	if out.Whole = err == nil && r.Cut == nil; r.Cut != nil {
		out.Cut = r.Cut
	}
	return out, err
}

// ReplayPolicies lists the policies that [Replay] knows by name, each with what
// it changes.
func ReplayPolicies() [][2]string { return decide.Policies() }
