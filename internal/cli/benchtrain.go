package cli

import (
	"errors"
	"fmt"
	"math"

	"atenia"
	"atenia/internal/bench/machine"
	"atenia/internal/cli/command"
	"atenia/internal/spelling"
	"atenia/internal/store/durable"

	"github.com/spf13/cobra"
)

const (
	mib = 1 << 20
	tb  = 1e12 // as disks are sold
)

// benchTrainCommand returns the command.
func benchTrainCommand(env *command.Env) *cobra.Command {
	cfg := machine.OffloadConfig{}
	chunk, tbw := 0, 0.0
	var old comparison
	c := &cobra.Command{
		Use:         "train-offload",
		Annotations: command.Patient,
		Short:       "Measure training with its state on disk",
		Long: "Train a stack of square layers on synthetic activations. AdamW steps with parameters, moments and master\n" +
			"weights in files take turns with the same steps in memory. The time of a step in each, the overlap of reads\n" +
			"and writes with computation, the bytes written per step, and how many steps a disk lasts are printed. The\n" +
			"system's cache keeps none of the files from step to step.",
		Example: "  atenia bench train-offload --layers 8 --width 2048 --dir /mnt/ssd\n" +
			"  atenia bench train-offload --tokens 512 --batches 4   # four batches for each step\n" +
			"  atenia bench train-offload --json > before.json       # and later:\n" +
			"  atenia bench train-offload --compare before.json",
		Args: cobra.NoArgs,
	}
	f := c.Flags()
	f.IntVar(&cfg.Layers, "layers", 4, "number of layers, of width² parameters each")
	f.IntVar(&cfg.Width, "width", 1024, "width of a layer")
	f.IntVar(&cfg.Tokens, "tokens", 2048, "number of tokens in a batch")
	f.IntVar(&cfg.Batches, "batches", 1, "number of batches accumulated for a step")
	f.IntVar(&cfg.Steps, "steps", 3, "number of measured steps; medians are printed")
	f.IntVarP(&cfg.Threads, "threads", "t", 0, "threads (0 = physical cores)")
	f.IntVar(&chunk, "chunk", 16, "MiB to read at once")
	f.StringVar(&cfg.Dir, "dir", "", "folder for the state, which is removed afterwards (default: the folder of temporary files)")
	f.Float64Var(&tbw, "tbw", 600, "terabytes that the disk is rated to write")
	f.StringVar(&old.path, "compare", "", "compare with the result in `FILE`, written by --json")
	c.RunE = func(c *cobra.Command, _ []string) error {
		for _, name := range []string{"layers", "width", "tokens", "batches", "steps", "chunk"} {
			if v, err := f.GetInt(name); err != nil || v <= 0 {
				return command.Usagef("--%s is %d, want a positive number", name, v)
			}
		}
		if !(tbw > 0 && tbw < 1e6) {
			return command.Usagef("--tbw is %g, want terabytes above 0", tbw)
		}
		if chunk > 1024 {
			return command.Usagef("--chunk is %d, want at most 1024 MiB", chunk)
		}
		cfg.ChunkBytes = chunk * mib
		if err := old.read(); err != nil {
			return err
		}
		d, err := atenia.Hardware(c.Context(), "", "")
		if err != nil {
			return err
		}
		dir, remove, err := durable.TempDir(cfg.Dir, "atenia-train-")
		if err != nil {
			return err
		}
		cfg.Dir = dir
		r, err := machine.RunOffload(c.Context(), cfg)
		if err = errors.Join(err, remove()); err != nil {
			return err
		}
		if err := old.print(env, d.ID, r, tbw); err != nil {
			return err
		}
		if !r.Equal {
			return fmt.Errorf("%w: parameters of the two runs differ", command.ErrVerify)
		}
		return nil
	}
	return c
}

func (c *comparison) print(env *command.Env, id string, r *machine.OffloadReport, tbw float64) error {
	steps := r.StepsUntil(uint64(math.Round(tbw * tb)))
	now := trainResultOf(id, r, tbw, steps)
	if *env.JSON {
		return env.PrintJSON(now)
	}
	equal := "equal bit for bit"
	if !r.Equal {
		equal = "DIFFERENT"
	}
	_, err := fmt.Fprintf(env.Out, `%s, %.1f million parameters, %d × %s per step, %s

state in memory   %.3f s a step, %.3f s of it the optimizer
state in files    %.3f s a step, %.2f times as long, overlap %.2f
state read        %.1f MiB a step of %.1f MiB
state written     %.1f MiB a step; %g TB last %s
parameters        %s
`,
		spelling.Count(r.Layers, "layer"), float64(r.Parameters)/1e6, r.Batches, spelling.Count(r.Tokens, "token"), spelling.Count(r.Threads, "thread"), r.InMemory, r.Update, r.Offloaded, 1+r.Overhead, r.Overlap,
		float64(r.ReadBytes)/mib, float64(r.StateBytes)/mib, float64(r.WrittenBytes)/mib, tbw, spelling.Count(steps, "such step"), equal)
	if err == nil && c.before != nil {
		err = now.compare(env.Out, c.path, c.before)
	}
	return err
}
