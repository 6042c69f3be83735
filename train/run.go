package train

import (
	"context"
	"fmt"

	"atenia/internal/memory/checkpoint"
	job "atenia/internal/train"
	"atenia/internal/train/fit"
	"atenia/internal/train/recipe"
)

// What [Run] and [ReadRecipe] fail with, for [errors.Is].
var (
	// ErrRecipe matches errors about a recipe. They name every fault.
	ErrRecipe = recipe.ErrRecipe
	// ErrStopped is returned by [Run] when its context ends, after a snapshot. Run with
	// [Options].Resume to continue.
	ErrStopped = job.ErrStopped
	// ErrTaken is returned by [Run] if the output folder holds a run. Set Resume or
	// Overwrite in [Options].
	ErrTaken = job.ErrTaken
)

// Options are settings of [Run] that, but for Checkpoint, do not affect
// its result.
type Options struct {
	Resume    bool // continue from the newest snapshot in the folder, if there is one
	Overwrite bool // discard the run that the folder holds
	// Checkpoint is the folder of a checkpoint that has a tensor for every trained
	// parameter, by its name: the run starts from them in place of what the recipe
	// says. A snapshot that is resumed counts more. "" = none.
	Checkpoint string
	// Decisions is a file to which the placement of each backward pass is appended,
	// for [atenia.Replay], and what came of the moves of its gradients, and Timeline one for the
	// order in which they ran, in lines that are the same for equal runs.
	Decisions, Timeline string
	// Started, if set, is called before the first step.
	Started func(Subject)
	// Watch, if set, is called after every step, from the goroutine that trains.
	Watch func(Event)
}

// A Subject describes the model and data of a run, before its first step.
type Subject struct {
	Architecture string `json:"architecture"`
	Parameters   int    `json:"parameters"` // values
	Trained      int    `json:"trained"`    // of these
	Vocabulary   int    `json:"vocabulary"` // tokens
	Documents    int    `json:"documents"`
	Tokens       int64  `json:"tokens"` // of the data
	Heldout      int    `json:"heldout"`
	Threads      int    `json:"threads"`
	Out          string `json:"out"`
	// Memory says what of the run is in memory and what is in files, if not all of
	// it fits or [Loop].Budget was set.
	Memory string `json:"memory,omitempty"`
	// Goals says what an encoder learns: "vectors" of texts that belong together,
	// "scores" of pairs, or "labels". "" is the next token.
	Goals string `json:"goals,omitempty"`
	// Warning is what to know of the folder that is trained on: see [Model].GPTQZeros.
	Warning string `json:"warning,omitempty"`
}

// A Event reports a step of a run to [Options].Watch.
type Event struct {
	Step, Steps int
	Loss        float64 // mean over the step's counted positions
	Norm        float64 // of the gradients, before clipping
	Rate        float64
	Tokens      int64   // of the run so far
	Seconds     float64 // that the step took
	Skipped     bool    // loss or gradients were no numbers; nothing was stepped
	// Moved are the bytes of files that the step read and wrote, and Waited the
	// seconds in which it computed neither the loss nor gradients, of a run whose
	// state does not fit into memory.
	Moved  int64
	Waited float64
	// Eval is the loss on held-out data, after the step; nil between
	// evaluations.
	Eval *float64
	// Accuracy is the share of held-out queries whose answer is the nearest document
	// of their batch (recall at 1), or of scores and labels that are right, of an
	// encoder; nil between evaluations.
	Accuracy *float64
	Best     bool   // Eval is the lowest so far
	Note     string // a warning; the other fields are then zero
}

// A Metric is one line of a run's log, metrics.jsonl.
type Metric struct {
	Step    int      `json:"step"` // counted from 1
	Loss    float64  `json:"loss,omitzero"`
	Rate    float64  `json:"lr,omitzero"`
	Norm    float64  `json:"norm,omitzero"`
	Tokens  int64    `json:"tokens,omitzero"` // of the run so far
	Seconds float64  `json:"seconds,omitzero"`
	Skipped bool     `json:"skipped,omitempty"` // loss and norm were no numbers, and are 0 here
	Eval    *float64 `json:"eval,omitempty"`
	// Accuracy is that of [Event].
	Accuracy *float64 `json:"accuracy,omitempty"`
}

// A Report says what a run did.
type Report struct {
	Steps   int      // done, those of earlier lives included
	Tokens  int64    // seen
	Loss    float64  // of the last step
	Skipped int      // steps whose loss or gradients were no numbers
	Best    *float64 // lowest loss on held-out data; nil without evaluations
	Early   bool     // it ended because held-out data got no better
	Written uint64   // bytes of state in files since the run began, in all processes: what the disk wears from
	Out     string   // the folder
	Base    string   // folder of the model that the result is an adapter for; "" if it is a model
	Merged  string   // folder of the merged model; "" if there is none
	Metrics []Metric // the lines of the folder's log
}

// Run trains a model by a recipe and writes a folder that [atenia.Open] opens. Use
// [ReadRecipe] for a recipe from a file, and [Options].Watch to follow
// the loss.
//
// The same recipe gives the same bytes, whatever the number of threads, and
// however often the run was stopped, or killed, and resumed. When ctx ends, Run
// takes a snapshot and returns [ErrStopped] with a report of what was done; a
// call with Resume continues there. An output folder that holds another run is
// [ErrTaken], unless Overwrite is set.
func Run(ctx context.Context, r *Recipe, o Options) (*Report, error) {
	p := fit.Options{Resume: o.Resume, Overwrite: o.Overwrite, Decisions: o.Decisions, Timeline: o.Timeline}
	if o.Started != nil {
		p.Started = func(s fit.Subject) { o.Started(Subject(s)) }
	}
	if o.Checkpoint != "" {
		p.Begin = func(params []*job.Param) error { return fill(ctx, o.Checkpoint, params) }
	}
	if o.Watch != nil {
		p.Watch = func(e job.Event) { o.Watch(Event(e)) }
	}
	rep, err := fit.Run(ctx, r.internal(), p)
	if rep == nil {
		return nil, err
	}
	metrics := make([]Metric, len(rep.Metrics))
	for i, m := range rep.Metrics {
		metrics[i] = Metric(m)
	}
	return &Report{
		Steps: rep.Steps, Tokens: rep.Tokens, Loss: rep.Loss, Skipped: rep.Skipped, Best: rep.Best, Early: rep.Early, Written: rep.Written,
		Out: rep.Out, Base: rep.Base, Merged: rep.Merged, Metrics: metrics,
	}, err
}

// fill sets parameters to the tensors of a checkpoint.
func fill(ctx context.Context, dir string, params []*job.Param) error {
	f, err := checkpoint.OpenFolder(dir, "", false)
	if err != nil {
		return err
	}
	list := make([]checkpoint.Parameter, len(params))
	for i, p := range params {
		list[i] = checkpoint.Parameter{Name: p.Name, Value: p.Value}
	}
	if _, err := f.Fill(ctx, list); err != nil {
		return fmt.Errorf("train from a checkpoint: %w", err)
	}
	return nil
}

// DrawLoss draws the losses of a log as a curve in braille, columns by rows
// characters, for a terminal.
func DrawLoss(ms []Metric, columns, rows int) string {
	all := make([]job.Metric, len(ms))
	for i, m := range ms {
		all[i] = job.Metric(m)
	}
	return job.PlotText(fit.Lines(all), columns, rows)
}
