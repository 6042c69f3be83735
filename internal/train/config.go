package train

import (
	"errors"
	"fmt"

	"atenia/grad/optim"
	"atenia/internal/durable"
	"atenia/internal/pool"
	"atenia/internal/train/data"
)

// The kinds of failure, for errors.Is.
var (
	// ErrConfig: the configuration, the data or the model cannot be trained.
	ErrConfig = errors.New("bad training configuration")
	// ErrDiverged: losses or gradients were no numbers too often in a row.
	ErrDiverged = errors.New("training diverged")
	// ErrResume: there are snapshots, and none of them can be gone on from.
	ErrResume = errors.New("cannot resume")
	// ErrTaken: the folder holds another run.
	ErrTaken = errors.New("the folder holds a run already")
	// ErrStopped: the context ended. A snapshot holds what was done.
	ErrStopped = errors.New("training was stopped")
)

// A Source yields the batches of a run, in an order that its seed and place
// decide.
type Source interface {
	// Next fills b, whose slices it may reuse, with the next batch.
	Next(b *data.Batch) error
	// Cursor returns the place of the next batch, as text.
	Cursor() string
	// Seek goes to a place that Cursor returned, of this source or of another
	// that was made alike; "" is the beginning.
	Seek(cursor string) error
}

// Config says how a [Learner] is trained. Zero means none, or the usual value
// given here.
type Config struct {
	Rule     optim.Rule // AdamW
	Rate     float64    // learning rate, 1e-3
	Schedule optim.Schedule
	Clip     float64 // limit of the norm of all gradients
	Steps    int     // after which the run is done
	// Accumulate is how many batches make the gradient of one step; 1.
	Accumulate int
	// BF16 keeps float32 parameters apart and rounds what the learner computes
	// with to bfloat16 after every step.
	BF16 bool
	// Offload keeps those float32 parameters, AdamW's moments and the rounded
	// parameters in files, for runs whose state exceeds memory. It implies
	// BF16 and a durable step: no snapshots are made.
	Offload bool

	EvalEvery   int     // steps between evaluations
	EvalBatches int     // of the held-out source, from its beginning; 8
	Patience    int     // evaluations without a gain after which a run ends early
	MinGain     float64 // of the loss, to count as one

	SnapshotEvery int // steps
	Keep          int // snapshots that are kept; 2
	// BadSteps is how many steps in a row may have a loss or gradients that
	// are no numbers; 10. They are skipped.
	BadSteps int

	Dir    string // of snapshots and metrics
	Resume bool   // from the newest snapshot in Dir that is whole
	// Overwrite removes the snapshots of another run in Dir. Without it and
	// Resume they are an error.
	Overwrite bool
	FS        durable.FS
	Pool      *pool.Pool
	// Watch is told of every step and evaluation, from the goroutine that
	// trains.
	Watch func(Event)
}

func (c Config) withDefaults() Config {
	if c.Rule == nil {
		c.Rule = optim.AdamW{}
	}
	if c.Rate == 0 {
		c.Rate = 1e-3
	}
	set := func(x *int, usual int) {
		if *x == 0 {
			*x = usual
		}
	}
	set(&c.Accumulate, 1)
	set(&c.EvalBatches, 8)
	set(&c.Keep, 2)
	set(&c.BadSteps, 10)
	if c.Schedule.Steps == 0 {
		c.Schedule.Steps = c.Steps
	}
	if c.Watch == nil {
		c.Watch = func(Event) {}
	}
	c.BF16 = c.BF16 || c.Offload
	c.FS = durable.Default(c.FS)
	return c
}

func (c *Config) check() error {
	errs := []error{c.Schedule.Check()}
	need := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("%w: "+format, append([]any{ErrConfig}, args...)...))
		}
	}
	need(c.Steps > 0, "%d steps, want at least 1", c.Steps)
	need(c.Rate > 0 && c.Rate < 1e6, "a learning rate of %v, want one above 0", c.Rate)
	need(c.Clip >= 0, "a limit of %v for the norm of gradients, want 0 or more", c.Clip)
	for _, n := range []struct {
		name  string
		value int
	}{
		{"batches a step", c.Accumulate}, {"evaluation batches", c.EvalBatches}, {"snapshots to keep", c.Keep}, {"bad steps", c.BadSteps},
		{"steps between evaluations", c.EvalEvery}, {"steps between snapshots", c.SnapshotEvery}, {"evaluations of patience", c.Patience},
	} {
		need(n.value >= 0, "%d %s, want 0 or more", n.value, n.name)
	}
	need(c.Dir != "", "the folder has no name")
	need(c.Patience == 0 || c.EvalEvery > 0, "stopping early needs evaluations")
	_, adamw := c.Rule.(optim.AdamW)
	need(!c.Offload || adamw, "only AdamW's state can be offloaded")
	return errors.Join(errs...)
}

// An Event is what a run tells while it goes on.
type Event struct {
	Step, Steps int
	Loss        float64 // mean over the step's counted positions
	Norm        float64 // of the gradients, before clipping
	Rate        float64
	Tokens      int64   // of the run so far
	Seconds     float64 // that the step took
	Skipped     bool    // loss or gradients were no numbers; nothing was stepped
	// Eval is the loss on held-out data, after the step; nil between
	// evaluations.
	Eval *float64
	Best bool   // Eval is the lowest so far
	Note string // something that a person should know; the other fields are then zero
}
