package atenia

import (
	"context"

	"atenia/internal/train"
	"atenia/internal/train/curve"
	"atenia/internal/train/job"
	reading "atenia/internal/train/memory"
	"atenia/internal/train/recipe"
)

// What [Train] takes, tells and returns.
type (
	TrainRecipe  = recipe.Recipe // what is trained, on what and how
	TrainOptions = job.Options
	TrainSubject = job.Subject // what is about to be trained
	TrainEvent   = train.Event // a step
	TrainMetric  = train.Metric
	TrainReport  = job.Report
)

// Why [ReadTrainRecipe] and [Train] fail, for errors.Is.
var (
	ErrTrainRecipe  = recipe.ErrRecipe
	ErrTrainStopped = train.ErrStopped // the context ended; a snapshot has what was done
	ErrTrainTaken   = train.ErrTaken   // the folder holds a run that is neither resumed nor overwritten
)

// ReadTrainRecipe reads the TOML file of a training run. Its keys are those of
// [TrainKeys]; paths in it are relative to it.
func ReadTrainRecipe(path string) (*TrainRecipe, error) { return recipe.Read(path) }

// TrainKeys returns the settings of a recipe and what each means, table by table.
func TrainKeys() string { return recipe.Help() }

// Train trains a model by a recipe and writes a folder that [Open] opens. The
// same recipe leaves the same bytes, whatever the number of threads, and however
// often it was stopped, or killed, and resumed. When the context ends it makes a
// snapshot and returns [ErrTrainStopped] beside a report of what was done.
func Train(ctx context.Context, r *TrainRecipe, o TrainOptions) (*TrainReport, error) {
	return job.Run(ctx, r, o)
}

// DrawLoss draws the losses of a log in so many characters of braille.
func DrawLoss(ms []TrainMetric, columns, rows int) string {
	return curve.Text(job.Lines(ms), columns, rows)
}

// IsNested reports whether a folder holds a model whose memory learns while it
// reads, which [Read] runs.
func IsNested(dir string) bool { return reading.Is(dir) }

// A Reading says what [Read] does.
type Reading = reading.Task

// Read lets a nested model read a prompt and go on with it. Its memory learns
// from both, at the time it runs. tell is given each piece of text.
func Read(ctx context.Context, dir string, r Reading, tell func(string) error) error {
	return reading.Read(ctx, dir, r, tell)
}
