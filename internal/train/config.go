package train

import (
	"errors"
	"fmt"

	"atenia/grad"
	"atenia/internal/store/durable"
	"atenia/internal/train/data"
	"atenia/internal/train/offload"
)

// The kinds of failure, for errors.Is.
var (
	// ErrConfig is returned for an invalid configuration, or data or a model that
	// cannot be trained.
	ErrConfig = errors.New("bad training configuration")
	// errDiverged is returned if too many losses or gradients in a row were NaN or
	// infinite.
	errDiverged = errors.New("training diverged")
	// ErrResume is returned if there are snapshots but none can be resumed.
	ErrResume = errors.New("cannot resume")
	// ErrTaken is returned if the directory holds another run.
	ErrTaken = errors.New("the folder holds a run already")
	// ErrUnsaved is returned if a snapshot cannot be written, to a full disk for instance.
	// The learner has the parameters of the step.
	ErrUnsaved = errors.New("the run cannot be saved")
	// ErrStopped is returned if the context ended. A snapshot holds the progress.
	ErrStopped = errors.New("training was stopped")
)

// A Source yields the batches of a run, in an order determined by its seed and
// position.
type Source interface {
	// Next fills b, whose slices it may reuse, with the next batch.
	Next(b *data.Batch) error
	// Cursor returns the position of the next batch, as text.
	Cursor() string
	// Seek moves to a position returned by Cursor of this source or of one created
	// alike; "" is the start.
	Seek(cursor string) error
}

// Config configures [Run]. Zero fields mean none, or the default given here.
type Config struct {
	Rule     grad.UpdateRule // AdamW
	Rate     float64         // learning rate; default 1e-3
	Schedule grad.Schedule
	Clip     float64 // maximum norm of all gradients
	Steps    int     // length of the run
	// Accumulate is the number of batches per step; default 1.
	Accumulate int
	// BF16 keeps float32 master parameters and rounds the learner's parameters to
	// bfloat16 after every step.
	BF16 bool
	// Offload keeps the master parameters, AdamW's moments and the rounded
	// parameters in files, for runs whose state exceeds memory. It implies BF16.
	// Every step is durable, and no snapshots are made.
	Offload bool
	// Paging, if not nil, keeps the state in files like Offload, and parameters and
	// gradients, too. It does not imply BF16.
	Paging *Paging
	Log    *offload.Log // of the placement of backward passes; nil = none

	EvalEvery   int     // steps between evaluations
	EvalBatches int     // held-out batches per evaluation, from the start; default 8
	Patience    int     // evaluations without improvement after which the run stops early
	MinGain     float64 // decrease of the loss that counts as an improvement

	SnapshotEvery int // steps
	Keep          int // snapshots to keep; default 2
	// BadSteps is the number of consecutive steps with NaN or infinite loss or
	// gradients that ends the run; default 10. Such steps are skipped.
	BadSteps int

	Dir    string // of snapshots and metrics
	Resume bool   // from the newest intact snapshot in Dir
	// Recipe is what must be the same in a run that is resumed, by its keys: another
	// value is an error that names it.
	Recipe map[string]string
	// Overwrite removes the snapshots of another run in Dir. Without it and Resume,
	// they are an error.
	Overwrite bool
	FS        durable.FS
	Threads   *grad.Threads
	// Beside are the bytes that are written to Dir beside the snapshots and the result,
	// which its disk must hold, too.
	Beside int64
	// Ready, if not nil, is called when the run has its folder and its disk can hold what
	// it will write, before the first value is written. Files beside the run's belong there.
	Ready func() error
	// Watch, if not nil, is called after every step and evaluation, on the training
	// goroutine.
	Watch func(Event)
}

func (c Config) withDefaults() Config {
	if c.Rule == nil {
		c.Rule = grad.AdamW{}
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
	if c.Ready == nil {
		c.Ready = func() error { return nil }
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
	_, adamw := c.Rule.(grad.AdamW)
	need(!c.Offload && c.Paging == nil || adamw, "only AdamW's state can be offloaded")
	return errors.Join(errs...)
}

// An Event reports the progress of a run.
type Event struct {
	Step, Steps int
	Loss        float64 // mean over the step's counted positions
	Norm        float64 // of the gradients, before clipping
	Rate        float64
	Tokens      int64   // of the run so far
	Seconds     float64 // that the step took
	Skipped     bool    // loss or gradients were NaN or infinite, and the step was skipped
	// Moved are the bytes of files that a step in files has read and written, and
	// Waited the seconds that it did not compute losses and gradients.
	Moved  int64
	Waited float64
	// Eval is the loss on held-out data, after the step; nil between
	// evaluations.
	Eval *float64
	// Accuracy is the share of held-out goals that were met, of a [grader]; nil
	// between evaluations.
	Accuracy *float64
	Best     bool   // Eval is the lowest so far
	Note     string // a message for the user; the other fields are then zero
}
