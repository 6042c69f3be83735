package quila

import (
	"fmt"

	"atenia/internal/cli/command"
	"atenia/quila"

	"github.com/spf13/cobra"
)

func coders(env *command.Env) *cobra.Command {
	var src source
	var o quila.Coding
	var out, wav string
	c := &cobra.Command{
		Use:   "coders",
		Short: "Train the coders of pictures and sounds",
		Long: "Train the coders that turn pictures of 32×32 points, and the spectra of sounds, into codes and back, on generated\n" +
			"shapes and tones, and print how well they do on others: the error in decibels, how many codes are in use and how\n" +
			"evenly. --out writes a new network with the coders and their frozen codebooks; --wav writes what the coder of\n" +
			"sound makes of a tone.",
		Example: "  atenia quila coders --profile micro --steps 600 --out micro.sxlm --wav tone.wav",
		Args:    cobra.NoArgs,
	}
	src.flags(c)
	c.Flags().IntVar(&o.Steps, "steps", 3000, "training steps")
	c.Flags().Uint64Var(&o.Seed, "seed", 0, "seed of weights and data")
	c.Flags().IntVar(&o.Threads, "threads", 0, "threads (0: as many as processors)")
	c.Flags().StringVar(&out, "out", "", "`FILE`.sxlm for a network with the coders")
	c.Flags().StringVar(&wav, "wav", "", "`FILE` for a tone that was coded and decoded")
	c.RunE = func(c *cobra.Command, _ []string) error {
		var err error
		if o.Config, err = src.read(c); err != nil {
			return err
		}
		o.Log = func(format string, args ...any) { fmt.Fprintf(env.Progress, format+"\n", args...) }
		got, err := o.Run(c.Context())
		if err != nil {
			return err
		}
		if out != "" {
			if err := got.Save(c.Context(), out); err != nil {
				return err
			}
		}
		if wav != "" {
			if err := got.WriteTone(wav, 0); err != nil {
				return err
			}
		}
		if *env.JSON {
			return env.PrintJSON(got)
		}
		line := func(name string, f quila.CoderFigures) {
			fmt.Fprintf(env.Out, "%-8s %.2f dB, %d codes used, perplexity %.1f, %.1f %% dead\n", name, f.PSNR, f.Used, f.Perplexity, 100*f.Dead)
		}
		line("pictures", got.Image)
		if got.Sound != nil {
			line("sounds", *got.Sound)
		}
		return nil
	}
	return c
}
