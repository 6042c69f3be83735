package atenia

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"atenia/internal/modelfile"
	"atenia/internal/passes"
	"atenia/tier/ring"
)

// A PassesConfig says how many passes [Model.Passes] measures.
type PassesConfig = passes.Config

// A PassesReport says what each pass over a model's weights cost.
type PassesReport = passes.Report

// Passes feeds a model tokens that are the same in every run, one after another,
// and reports what each pass cost. Other requests to the model would show.
func (m *Model) Passes(ctx context.Context, c PassesConfig) (*PassesReport, error) {
	r, err := passes.Run(ctx, &passes.Model{Sched: m.sched, Vocab: m.Vocab(), Stats: func() ring.Stats { return m.Streaming().Stats }}, c)
	if err != nil {
		return nil, err
	}
	s := m.Streaming()
	if r.Held, r.Streamed = s.Held, s.Streamed; s.Plan != nil {
		r.Predicted = s.Plan.Decode.Seconds
	}
	return r, nil
}

// MeasureRates measures how fast a model's largest file and memory are read,
// alone and both at once, for a second in all. It returns the bytes of all
// files, too, of which nothing stays in the system's cache.
func MeasureRates(ctx context.Context, path string, threads int) (r Rates, bytes int64, err error) {
	d, err := describe(path, "")
	if err != nil {
		return r, 0, err
	}
	defer d.Close()
	if path == "" || len(d.Parts) == 0 {
		return r, 0, fmt.Errorf("%s: want a model in files", display(path))
	}
	for _, p := range d.Parts {
		bytes += p.Bytes
		if err := passes.Drop(p.Path); err != nil {
			return r, 0, err
		}
	}
	r, err = passes.MeasureRates(ctx, largest(d), passes.Effort{Threads: threads})
	return r, bytes, err
}

// largest returns the path of the largest file.
func largest(d *modelfile.Description) string {
	return slices.MaxFunc(d.Parts, func(a, b modelfile.Part) int { return cmp.Compare(a.Bytes, b.Bytes) }).Path
}
