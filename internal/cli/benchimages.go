package cli

import (
	"fmt"
	"slices"

	"atenia/internal/bench"
	"atenia/internal/cli/command"
	"atenia/internal/engine"
	"atenia/internal/spelling"

	"github.com/spf13/cobra"
)

// An imagesResult is what bench images prints with --json. Seconds are medians.
type imagesResult struct {
	Model   string  `json:"model"`
	Side    int     `json:"side"`
	Pieces  int     `json:"pieces"`
	Patches int     `json:"patches"`
	Tokens  int     `json:"tokens"`
	Threads int     `json:"threads"`
	Prepare float64 `json:"prepare_seconds"`
	Encode  float64 `json:"encode_seconds"`
	Min     float64 `json:"encode_min_seconds"`
	Max     float64 `json:"encode_max_seconds"`
	Speed   float64 `json:"encode_tokens_per_second"`
}

// benchImages returns the command that measures the encoding of images.
func (a *app) benchImages() *cobra.Command {
	cfg := bench.ImageConfig{}
	c := &cobra.Command{
		Use:   "images MODEL",
		Short: "Measure the encoding of images",
		Long: "Measure how long a model's image tower takes for a square of random pixels, which the model's image processor\n" +
			"resizes as it does others. The language model is not loaded. Medians of -r repeats after one more are printed:\n" +
			"preparing is reading the file, resizing and cutting, encoding is what the tower does.",
		Example: "  atenia bench images path/to/Qwen3-VL-2B-Instruct --side 512\n" +
			"  atenia bench images model.gguf --mmproj mmproj-model.gguf -r 1",
		Args: cobra.ExactArgs(1),
	}
	f := c.Flags()
	f.IntVar(&cfg.Side, "side", 1024, "pixels of the side of the image")
	f.IntVarP(&cfg.Repeats, "repeats", "r", 3, "number of repetitions; medians are printed")
	f.IntVarP(&cfg.Threads, "threads", "t", 0, "worker threads (0 = physical cores)")
	f.BoolVar(&cfg.Precise, "precise", false, "keep activations in float32 (slower)")
	f.StringVar(&cfg.Tower, "mmproj", "", "read the image tower of a GGUF model from `FILE` (default: the file named mmproj- and the model's name, if there is one)")
	c.RunE = func(c *cobra.Command, args []string) error {
		const most = 1 << 14
		if cfg.Side < 1 || cfg.Side > most {
			return command.Usagef("--side is %d, want 1 to %d", cfg.Side, most)
		}
		if cfg.Repeats < 1 {
			return command.Usagef("--repeats is %d, want 1 or more", cfg.Repeats)
		}
		if cfg.Threads < 0 {
			return command.Usagef("--threads is %d, want 0 or more", cfg.Threads)
		}
		fmt.Fprintln(a.progress(), "measuring …")
		m, err := bench.Images(c.Context(), args[0], cfg)
		if err != nil {
			return err
		}
		r := imagesResult{Model: engine.Display(args[0]), Side: cfg.Side, Pieces: m.Pieces, Patches: m.Patches, Tokens: m.Tokens, Threads: m.Threads,
			Prepare: median(m.Prepare), Encode: median(m.Encode), Min: slices.Min(m.Encode), Max: slices.Max(m.Encode)}
		if r.Encode > 0 {
			r.Speed = float64(r.Tokens) / r.Encode
		}
		if a.json {
			return a.printJSON(r)
		}
		_, err = fmt.Fprintf(a.out, "%s: an image of %d × %d pixels is %d patches in %s, %s; %s\n"+"prepare  %.4f s\nencode   %.4f s (%.4f to %.4f), %.1f tokens/s\n",
			r.Model, r.Side, r.Side, r.Patches, spelling.Count(r.Pieces, "piece"), spelling.Count(r.Tokens, "token"), spelling.Count(r.Threads, "thread"),
			r.Prepare, r.Encode, r.Min, r.Max, r.Speed)
		return err
	}
	return c
}
