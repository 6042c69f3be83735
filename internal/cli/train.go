package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"atenia"
	"atenia/internal/cli/command"
	"atenia/place"
	"atenia/train"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A runTraining is one run of the command.
type runTraining struct {
	env       *command.Env
	steps     int
	out       string
	model     string
	every     int
	resume    bool
	overwrite bool
	from      string // folder of a checkpoint
	budget    string
	decisions string
	timeline  string
}

// trainCommand returns the command.
func trainCommand(env *command.Env) *cobra.Command {
	a := &runTraining{env: env}
	c := &cobra.Command{
		Use:   "train CONFIG.toml",
		Short: "Train a model",
		Long: "Train the model that a TOML file describes, and write a folder for \"atenia run\": model.safetensors,\n" +
			"config.json, tokenizer.json, the log metrics.jsonl and the plot loss.png. Ctrl-C saves a snapshot and stops.\n" +
			"--resume continues from the newest snapshot, also after a kill or a power loss, and ends with the same bytes\n" +
			"as an uninterrupted run.\n\nPaths in the file are relative to it. The keys, with their defaults in parentheses:\n" +
			strings.TrimRight(train.Keys(), "\n"),
		Example: "  atenia train examples/char/config.toml\n  atenia train config.toml --steps 100 --out /tmp/try\n" +
			"  atenia train config.toml --resume\n  atenia train config.toml --budget ram=1GiB\n" +
			"  atenia checkpoint save run/model saved --in-place && atenia train config.toml --checkpoint saved",
		Args:        cobra.ExactArgs(1),
		Annotations: command.Patient,
	}
	f := c.Flags()
	f.IntVar(&a.steps, "steps", 0, "number of steps instead of train.steps; warm-up and schedule scale with it")
	f.StringVar(&a.out, "out", "", "output folder instead of train.out")
	f.StringVar(&a.model, "model", "", "architecture instead of model.architecture: llama or mag")
	f.IntVar(&a.every, "checkpoint-every", 0, "number of steps between snapshots instead of train.save_every")
	f.BoolVar(&a.resume, "resume", false, "continue from the newest snapshot in the folder, or start if there is none")
	f.StringVar(&a.from, "checkpoint", "", "start from the parameters in the checkpoint in the folder `DIR`, see \"atenia checkpoint save\"")
	f.BoolVar(&a.overwrite, "overwrite", false, "start over even if the folder holds a run")
	a.memoryFlags(f)
	c.RunE = func(c *cobra.Command, args []string) error { return a.run(c.Context(), args[0], f.Changed) }
	return c
}

// memoryFlags adds the flags of runs that do not fit into memory.
func (a *runTraining) memoryFlags(f *pflag.FlagSet) {
	f.StringVar(&a.budget, "budget", "", "memory of the process, as `ram=SIZE`: what does not fit is kept in files (default: what other programs leave)")
	f.StringVar(&a.decisions, "decisions", "", "append where each backward pass ran, why, and what became of its gradients, to `FILE`, for \"atenia replay\"")
	f.StringVar(&a.timeline, "timeline", "", "append the order of backward passes to `FILE`")
}

// setBudget puts the flag's memory into a recipe.
func (a *runTraining) setBudget(r *train.Recipe) error {
	if a.budget == "" {
		return nil
	}
	b, err := atenia.ParseBudget(a.budget)
	switch {
	case err != nil:
		return &command.UsageError{Err: fmt.Errorf("--budget: %w", err)}
	case b != (place.Budget{RAM: b.RAM, Auto: b.Auto}) || b.RAM == 0:
		return command.Usagef("--budget is %s, want ram=SIZE: training uses no other memory", a.budget)
	}
	r.Train.Budget = strconv.FormatInt(b.RAM, 10)
	return nil
}

func (a *runTraining) run(ctx context.Context, path string, changed func(string) bool) error {
	r, err := train.ReadRecipe(path)
	if errors.Is(err, train.ErrRecipe) {
		return &command.UsageError{Err: err}
	}
	if err != nil {
		return err
	}
	if a.resume && a.overwrite {
		return command.Usagef("--resume and --overwrite exclude each other")
	}
	for _, n := range []struct {
		flag  string
		value int
	}{{"steps", a.steps}, {"checkpoint-every", a.every}} {
		if changed(n.flag) && n.value < 1 {
			return command.Usagef("--%s is %d, want at least 1", n.flag, n.value)
		}
	}
	if a.steps > 0 {
		r.SetSteps(a.steps)
	}
	if a.every > 0 {
		r.Train.SaveEvery = a.every
	}
	if a.out != "" {
		r.Train.Out = a.out
	}
	if a.model != "" {
		if err := r.SetArchitecture(a.model); err != nil {
			return &command.UsageError{Err: err}
		}
	}
	if err := a.setBudget(r); err != nil {
		return err
	}
	again := fmt.Sprintf("atenia train %s --resume", path)
	if a.out != "" {
		again += " --out " + a.out
	}
	return a.train(ctx, r, again)
}

// train trains and prints. again is the command that resumes the run.
func (a *runTraining) train(ctx context.Context, r *train.Recipe, again string) error {
	p := &printer{env: a.env}
	rep, err := train.Run(ctx, r, train.Options{
		Resume: a.resume, Overwrite: a.overwrite, Checkpoint: a.from, Decisions: a.decisions, Timeline: a.timeline, Started: p.started, Watch: p.step,
	})
	p.clear()
	switch {
	case errors.Is(err, train.ErrStopped) && rep != nil:
		return fmt.Errorf("stopped after step %d of %d with a snapshot; continue with \"%s\"", rep.Steps, r.Train.Steps, again)
	case errors.Is(err, train.ErrTaken):
		return fmt.Errorf("%w: see --resume, --overwrite and --out", err)
	case err != nil:
		return err
	}
	return p.done(rep)
}
