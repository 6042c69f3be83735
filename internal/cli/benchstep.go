package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"atenia"
	"atenia/internal/bench/step"
	"atenia/internal/cli/command"
	"atenia/internal/spelling"

	"github.com/spf13/cobra"
)

// benchStepCommand returns the command that measures steps of training in memory.
func benchStepCommand(env *command.Env) *cobra.Command {
	cfg := step.Config{}
	compare := ""
	in := step.BudgetConfig{}
	budget := ""
	c := &cobra.Command{
		Use:         "train",
		Annotations: command.Patient,
		Short:       "Measure training steps",
		Long: "Measure training steps of a Llama model with random weights on random tokens: forward, backward and AdamW,\n" +
			"all in float32. Median times, peak memory and the share of the machine's multiply-adds are printed.\n" +
			"With --budget the model is a recipe of \"atenia train\" with bfloat16 parameters, whose state goes to files in\n" +
			"--dir: the time of a step is compared with what computing or the disk take alone.",
		Example: "  atenia bench train --size 60M\n" +
			"  atenia bench train --size 5M --rows 8 --length 256 -t 2\n" +
			"  atenia bench train --size 300M --rows 2 --budget ram=1GiB --dir /mnt/ssd\n" +
			"  atenia bench train --json > before.json       # and later:\n" +
			"  atenia bench train --compare before.json",
		Args: cobra.NoArgs,
	}
	f := c.Flags()
	f.StringVar(&cfg.Size, "size", "5M", "model size: "+strings.Join(step.ModelNames(), ", ")+" parameters")
	f.IntVar(&cfg.Rows, "rows", 8, "number of rows in a batch")
	f.IntVar(&cfg.Length, "length", 256, "number of tokens in a row")
	f.IntVar(&cfg.Steps, "steps", 5, "number of measured steps; medians are printed")
	f.IntVarP(&cfg.Threads, "threads", "t", 0, "threads (0 = physical cores)")
	f.BoolVar(&cfg.Recompute, "recompute", false, "recompute layers in the backward pass instead of keeping their outputs")
	f.StringVar(&compare, "compare", "", "compare with the result in `FILE`, written by --json")
	f.StringVar(&budget, "budget", "", "train in this memory, as `ram=SIZE`, with the state in files")
	f.StringVar(&in.Dir, "dir", "", "folder for the state with --budget, which is removed afterwards (default: the folder of temporary files)")
	f.BoolVar(&in.Whole, "whole", false, "with --budget, repeat the run with everything in memory and compare the models")
	c.RunE = func(c *cobra.Command, _ []string) error {
		for _, name := range []string{"rows", "length", "steps"} {
			if v, err := f.GetInt(name); err != nil || v <= 0 {
				return command.Usagef("--%s is %d, want a positive number", name, v)
			}
		}
		if budget != "" {
			in.Config = cfg
			return benchBudget(c.Context(), env, budget, in)
		}
		before, err := readSteps(compare)
		if err != nil {
			return err
		}
		d, err := atenia.Hardware(c.Context(), nil)
		if err != nil {
			return err
		}
		r, err := step.RunSteps(c.Context(), cfg)
		if err != nil {
			return err
		}
		now := stepsOf(d.ID, r)
		if *env.JSON {
			return env.PrintJSON(now)
		}
		return now.print(env.Out, compare, before)
	}
	return c
}

// steps is the result that is printed with --json.
type steps struct {
	Machine    string  `json:"machine"` // equal on equal machines
	Size       string  `json:"size"`
	Parameters int     `json:"parameters"`
	Rows       int     `json:"rows"`
	Length     int     `json:"length"`
	Threads    int     `json:"threads"`
	Step       float64 `json:"step_seconds"`
	Forward    float64 `json:"forward_seconds"`
	Backward   float64 `json:"backward_seconds"`
	Update     float64 `json:"update_seconds"`
	Tokens     float64 `json:"tokens_per_second"`
	Share      float64 `json:"roof_share"`
	Peak       int64   `json:"peak_bytes"`
	Loss       float64 `json:"loss"`
}

func stepsOf(machine string, r *step.Report) *steps {
	return &steps{machine, r.Size, r.Parameters, r.Rows, r.Length, r.Threads, r.Step, r.Forward, r.Backward, r.Update,
		float64(r.Rows*r.Length) / r.Step, r.Share, r.PeakBytes, r.Loss}
}

func readSteps(path string) (*steps, error) {
	if path == "" {
		return nil, nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("--compare: %w", err)
	}
	r, err := parseSteps(b)
	if err != nil {
		return nil, fmt.Errorf("--compare: %s: %w", path, err)
	}
	return r, nil
}

func parseSteps(b []byte) (*steps, error) {
	r := &steps{}
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("not a result of bench train: %w", err)
	}
	if r.Step <= 0 || r.Size == "" {
		return nil, errors.New("not a result of bench train: it has no steps")
	}
	return r, nil
}

// print prints a result, beside an earlier one of the same work.
func (s *steps) print(w io.Writer, path string, before *steps) error {
	_, err := fmt.Fprintf(w, `%s: %.1f million parameters, %d × %s per step, %s

step       %.3f s, %.1f tokens a second, %.0f %% of the multiply-adds that the machine has
forward    %.3f s
backward   %.3f s, %.2f times forward
optimizer  %.3f s
memory     %.1f MiB at most
`, s.Size, float64(s.Parameters)/1e6, s.Rows, spelling.Count(s.Length, "token"), spelling.Count(s.Threads, "thread"), s.Step, s.Tokens, 100*s.Share,
		s.Forward, s.Backward, s.Backward/s.Forward, s.Update, float64(s.Peak)/mib)
	switch {
	case err != nil || before == nil:
		return err
	case s.Size != before.Size || s.Rows != before.Rows || s.Length != before.Length:
		_, err = fmt.Fprintf(w, "%s measured %s, %d × %s per step: nothing to compare with\n", path, before.Size, before.Rows, spelling.Count(before.Length, "token"))
		return err
	}
	where := "on this machine"
	if s.Machine != before.Machine || s.Threads != before.Threads {
		where = fmt.Sprintf("on another machine, with %s", spelling.Count(before.Threads, "thread"))
	}
	_, err = fmt.Fprintf(w, "compared with %s, %s: %+.1f %% a step\n", path, where, 100*(s.Step/before.Step-1))
	return err
}
