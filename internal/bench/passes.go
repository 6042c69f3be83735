package bench

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"atenia"
	"atenia/internal/engine"
	"atenia/internal/model/file"

	"atenia/internal/memory/rates"
)

// Passes feeds a model tokens that are the same in every run, one after another,
// and reports what each pass cost. Other requests to the model would show.
func Passes(ctx context.Context, e *engine.Engine, c PassesConfig) (*PassesReport, error) {
	w := e.Residence()
	r, err := RunPasses(ctx, &PassesModel{Sched: e.Sched, Vocab: e.Plan.Model.Config.Vocab, Stats: w.Stats}, c)
	if err != nil {
		return nil, err
	}
	r.Held, r.Streamed = w.Held, w.Streamed
	if pl := e.Placement(); pl != nil {
		r.Predicted = pl.Decode.Seconds
	}
	return r, nil
}

// Rates measures how fast a model's largest file and memory are read, alone and
// both at once, for a second in all. It returns the bytes of all files, too, of
// which nothing stays in the system's cache.
func Rates(ctx context.Context, path string, threads int) (r atenia.Rates, bytes int64, err error) {
	d, err := engine.OpenFiles(path, "")
	if err != nil {
		return r, 0, err
	}
	defer d.Close()
	if path == "" || len(d.Parts) == 0 {
		return r, 0, fmt.Errorf("%s: want a model in files", engine.Display(path))
	}
	for _, p := range d.Parts {
		bytes += p.Bytes
		if err := rates.Drop(p.Path); err != nil {
			return r, 0, err
		}
	}
	measured, err := rates.Measure(ctx, largest(d), rates.Effort{Threads: threads})
	return atenia.Rates(measured), bytes, err
}

// largest returns the path of the largest file.
func largest(d *file.Description) string {
	return slices.MaxFunc(d.Parts, func(a, b file.Part) int { return cmp.Compare(a.Bytes, b.Bytes) }).Path
}
