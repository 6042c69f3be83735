package quila

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"atenia/internal/cli/command"
	"atenia/internal/store/durable"
	"atenia/quila"

	"github.com/spf13/cobra"
)

// A trainer is the flags of train.
type trainer struct {
	source
	quila.Training
	tokens    int
	baselines bool
	models    []string
	out       string
}

func trainCommand(env *command.Env) *cobra.Command {
	var f trainer
	c := &cobra.Command{
		Use:   "train",
		Short: "Train a network on the toy corpus and print its learning curve",
		Long: "Train on quila-toy-v1, a generated text whose entropy is known, and print the bits a character on another text of\n" +
			"the same kind at fixed numbers of tokens: together and by kind of line. Marks during a run are of a quarter of\n" +
			"that text and read .01 to .03 low; a mark with * is of all of it. No model can pass the floor.\n\n" +
			"--baselines trains a GRU and a transformer of the same size beside the network, by the same recipe with learning\n" +
			"rates of their own, and counts an order-5 Kneser-Ney model.\n\n" +
			"With --dir, checkpoints, curve.jsonl and curve.svg are written there; --resume continues after an interruption,\n" +
			"--stop-at or Ctrl-C and ends with the same weights as a run without one. Steps and rate may change then. See docs/quila-training.md.",
		Example: "  atenia quila train --profile nano --steps 100\n" +
			"  atenia quila train --profile nano --steps 1000 --baselines --dir runs/nano --out nano.sxlm",
		Args:        cobra.NoArgs,
		Annotations: command.Patient,
	}
	f.flags(c)
	p := c.Flags()
	p.IntVar(&f.Steps, "steps", 1000, "steps of the schedule")
	p.IntVar(&f.tokens, "tokens", 0, "tokens to train on instead of --steps")
	p.IntVar(&f.StopAt, "stop-at", 0, "stop after this step of the schedule (0: at its end)")
	p.IntVar(&f.Batch, "batch", 16, "rows of text in a step")
	p.IntVar(&f.Window, "window", 48, "characters of a row in a step")
	p.Float64Var(&f.Rate, "lr", 0, "learning rate of the network (0: the recipe's)")
	p.Uint64Var(&f.Seed, "seed", 0, "seed of the first weights")
	p.IntVar(&f.Threads, "threads", 0, "threads (0: as many as processors)")
	p.BoolVar(&f.baselines, "baselines", false, "train gru and transformer beside it and count")
	p.StringSliceVar(&f.models, "with", nil, "`MODELS` to train beside it: "+strings.Join(quila.Models(), ", "))
	p.BoolVar(&f.Only, "only", false, "train the models of --with alone")
	p.StringVar(&f.Dir, "dir", "", "`DIR` for checkpoints and the curve")
	p.BoolVar(&f.Resume, "resume", false, "continue from the checkpoints in --dir, or start if there are none")
	p.IntVar(&f.Every, "checkpoint-every", 50, "steps between checkpoints")
	p.StringVar(&f.out, "out", "", "`FILE`.sxlm for the trained network")
	p.StringVar(&f.Stages, "stages", "", "train by the curriculum up to `STAGE`: b, a library from the second tenth on; c, also a sparse network in the last 30 %")
	p.IntVar(&f.Distil, "distil", 0, "with --stages: steps of distilling the consistency model after the first tenth (0: none)")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := f.prepare(c); err != nil {
			return err
		}
		show := &curve{w: env.Out, progress: env.Progress}
		f.Step = show.step
		f.Note = func(s string) { fmt.Fprintln(env.Err, "atenia: warning:", s) }
		if !*env.JSON {
			f.Mark = show.mark
		}
		got, err := f.Run(c.Context())
		switch {
		case f.Dir != "" && errors.Is(err, context.Canceled): // of its own, so that it is printed
			return fmt.Errorf("stopped with checkpoints in %s; continue with the same command and --resume", f.Dir)
		case err != nil:
			return err
		}
		if f.out != "" {
			if err := f.save(c, got); err != nil {
				return err
			}
		}
		if *env.JSON {
			return env.PrintJSON(got)
		}
		fmt.Fprintf(env.Out, "%8s  floor %.4f\n", "", got.Floor)
		return nil
	}
	return c
}

// save writes the network. What was learned is not lost with a disk that is full: it is in
// the checkpoints or, without those, goes to the system's folder for temporary files.
func (f *trainer) save(c *cobra.Command, got *quila.Trained) error {
	err := got.Save(c.Context(), f.out)
	switch {
	case err == nil:
		return nil
	case f.Dir != "":
		return fmt.Errorf("%w; the trained network is kept in the checkpoints of %s: go on with --resume and --out in a place with room, which writes it", err, f.Dir)
	}
	name := filepath.Base(f.out)
	dir, e := durable.Keep("quila-trained-", func(dir string) error { return got.Save(c.Context(), filepath.Join(dir, name)) })
	if e != nil {
		return errors.Join(err, e)
	}
	return fmt.Errorf("%w; the trained network is in %s instead: move it", err, filepath.Join(dir, name))
}

// prepare completes and checks the flags.
func (f *trainer) prepare(c *cobra.Command) error {
	cfg, err := f.read(c)
	if err != nil {
		return err
	}
	if f.file == "" {
		cfg.Training()
	}
	f.Config = cfg
	f.Models = f.models
	if f.baselines {
		for _, m := range []string{"gru", "transformer", "counts"} {
			if !slices.Contains(f.Models, m) {
				f.Models = append(f.Models, m)
			}
		}
	}
	for _, m := range f.Models {
		if !slices.Contains(quila.Models(), m) {
			return command.Usagef("--with %s: want %s", m, strings.Join(quila.Models(), ", "))
		}
	}
	switch {
	case f.tokens < 0 || f.Steps < 1 || f.Batch < 1 || f.Window < 1 || f.Every < 0 || f.StopAt < 0 || f.Threads < 0:
		return command.Usagef("--tokens, --steps, --batch, --window, --checkpoint-every, --stop-at and --threads: want positive numbers")
	case f.tokens > 0 && c.Flags().Changed("steps"):
		return command.Usagef("--tokens and --steps: give one of them")
	case f.Resume && f.Dir == "":
		return command.Usagef("--resume: needs --dir")
	case !slices.Contains([]string{"", "b", "c"}, f.Stages):
		return command.Usagef("--stages %s: want b or c", f.Stages)
	case f.Stages != "" && f.Dir != "":
		return command.Usagef("--stages and --dir: a run with stages cannot be resumed")
	case f.Distil < 0 || f.Distil > 0 && f.Stages == "":
		return command.Usagef("--distil %d: needs --stages and a positive number", f.Distil)
	case f.Only && len(f.Models) == 0:
		return command.Usagef("--only: needs --with")
	case f.Only && f.out != "":
		return command.Usagef("--only and --out: there is no network to write")
	case f.out != "" && !strings.HasSuffix(f.out, ".sxlm"):
		return command.Usagef("--out %s: want a file that ends in .sxlm", f.out)
	}
	if f.tokens > 0 {
		f.Steps = max(1, f.tokens/(f.Batch*f.Window))
	}
	return nil
}

// A curve prints points as they come.
type curve struct {
	w, progress io.Writer
	begun       bool
}

func (v *curve) step(model string, step, of int, bits, speed float64) {
	fmt.Fprintf(v.progress, "\r%s: step %d of %d, %.3f bits, %.0f tokens/s   ", model, step, of, bits, speed)
}

func (v *curve) mark(p quila.Point) {
	if !v.begun {
		fmt.Fprintf(v.progress, "\r")
		fmt.Fprintf(v.w, "%8s  %-12s %8s  %-8s %6s %8s %7s %8s  %8s\n", "tokens", "model", "weights", "bits", "sum", "sentence", "recall", "reversal", "tokens/s")
		v.begun = true
	}
	whole := " "
	if p.Whole {
		whole = "*"
	}
	speed := "–"
	if p.Seconds > 0 {
		speed = fmt.Sprintf("%.0f", float64(p.Tokens)/p.Seconds)
	}
	fmt.Fprintf(v.w, "%8d  %-12s %8d  %.4f%s  %6.2f %8.2f %7.2f %8.2f  %8s\n", p.Tokens, p.Model, p.Weights, p.Bits, whole,
		p.Kinds["sum"], p.Kinds["sentence"], p.Kinds["recall"], p.Kinds["reversal"], speed)
}
