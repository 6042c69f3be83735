package school

import (
	"context"
	"errors"
	"math"
	"time"
)

// A Mark is a point of a curve.
type Mark struct {
	Tokens  int     `json:"tokens"`
	Score   Score   `json:"score"`
	Whole   bool    `json:"whole"`   // of the whole text
	Train   float64 `json:"train"`   // mean of the last ten steps, bits
	Norm    float64 `json:"norm"`    // of the last gradient
	Seconds float64 `json:"seconds"` // of training so far, evaluations apart
}

// marks are the numbers of tokens at which curves are compared.
var marks = []int{38_400, 76_800, 153_600, 230_400, 307_200, 384_000, 460_800, 614_400, 768_000, 1_152_000, 1_536_000, 2_000_000}

// due reports whether a curve has a point after a step.
func (r *Run) due() bool {
	if r.step == r.Recipe.Steps {
		return true
	}
	for _, m := range marks {
		if r.Tokens()-r.Recipe.Tokens() < m && m <= r.Tokens() {
			return true
		}
	}
	return false
}

// Speed is how many codes a second were read in training, evaluations apart.
func (r *Run) Speed() float64 {
	if r.seconds == 0 {
		return 0
	}
	return float64(r.Tokens()) / r.seconds
}

// Hooks are what a caller wants to see of a run; each may be nil.
type Hooks struct {
	Step  func(r *Run, t Taken)
	Saved func(r *Run) error // called every so many steps and where a run stops, to save a checkpoint
	Every int                // steps between calls of Saved; 0 is at marks only
}

// ToMark trains until the next point of the curve is there, at most to step stop,
// and returns it; ok is false if the run was there already.
func (r *Run) ToMark(ctx context.Context, validation []byte, stop int, h Hooks) (m Mark, ok bool, err error) {
	save := func() error {
		if h.Saved == nil || r.saved == r.step {
			return nil
		}
		if err := h.Saved(r); err != nil {
			return err
		}
		r.saved = r.step
		return nil
	}
	for r.step < min(stop, r.Recipe.Steps) {
		if err := ctx.Err(); err != nil {
			return Mark{}, false, errors.Join(err, save())
		}
		start := time.Now()
		t, err := r.Step(ctx)
		if err != nil {
			return Mark{}, false, err
		}
		r.seconds += time.Since(start).Seconds()
		if h.Step != nil {
			h.Step(r, t)
		}
		due := r.due()
		if due {
			if m, err = r.mark(ctx, validation, t.Norm); err != nil {
				return Mark{}, false, err
			}
			r.Marks = append(r.Marks, m)
		}
		if due || h.Every > 0 && r.step%h.Every == 0 {
			if err := save(); err != nil {
				return Mark{}, false, err
			}
		}
		if due {
			return m, true, nil
		}
	}
	return Mark{}, false, save()
}

// mark evaluates.
func (r *Run) mark(ctx context.Context, validation []byte, norm float64) (Mark, error) {
	m := Mark{Tokens: r.Tokens(), Norm: norm, Seconds: r.seconds, Whole: r.step == r.Recipe.Steps}
	limit := Glance
	if m.Whole {
		limit = 0
	}
	var err error
	m.Score, err = Evaluate(ctx, &r.Pupil, validation, limit)
	for _, x := range r.recent {
		m.Train += x / float64(len(r.recent)) / math.Ln2
	}
	return m, err
}
