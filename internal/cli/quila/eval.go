package quila

import (
	"fmt"
	"io"

	"atenia/internal/cli/command"
	"atenia/internal/store/durable"
	"atenia/quila"

	"github.com/spf13/cobra"
)

// largestText bounds the text of an evaluation.
const largestText = 1 << 30

func evalCommand(env *command.Env) *cobra.Command {
	var o quila.Evaluation
	var text string
	c := &cobra.Command{
		Use:   "eval MODEL.sxlm",
		Short: "Measure a network's bits a character",
		Long: "Read the validation text of quila-toy-v1, or --text, in 32 sessions and print the bits a character: together, by\n" +
			"kind of line, and the entropy that no model can pass. --fp8 rounds the messages between neurons to E4M3.",
		Example:     "  atenia quila eval nano.sxlm\n  atenia quila eval nano.sxlm --fp8 --json",
		Args:        cobra.ExactArgs(1),
		Annotations: command.Patient,
	}
	f := c.Flags()
	f.BoolVar(&o.FP8, "fp8", false, "round messages to E4M3")
	f.BoolVar(&o.Short, "short", false, "read a quarter of the text, as marks of a training do")
	f.StringVar(&text, "text", "", "`FILE` to read instead of the validation text")
	f.IntVar(&o.Threads, "threads", 0, "threads (0: as many as processors)")
	c.RunE = func(c *cobra.Command, args []string) error {
		if o.Threads < 0 {
			return command.Usagef("--threads %d: want 0 or more", o.Threads)
		}
		o.File = args[0]
		if text != "" {
			var err error
			if o.Text, err = readText(text); err != nil {
				return err
			}
		}
		got, err := o.Run(c.Context())
		if err != nil {
			return err
		}
		if *env.JSON {
			return env.PrintJSON(got)
		}
		return printEval(env.Out, got)
	}
	return c
}

func printEval(w io.Writer, e *quila.Evaluated) error {
	_, err := fmt.Fprintf(w, "%.4f bits a character over %d characters, %.0f a second\n", e.Bits, e.Tokens, e.TokensPerSecond)
	if err == nil && e.Kinds != nil {
		_, err = fmt.Fprintf(w, "sum %.2f  sentence %.2f  recall %.2f  reversal %.2f  floor %.4f\n",
			e.Kinds["sum"], e.Kinds["sentence"], e.Kinds["recall"], e.Kinds["reversal"], e.Floor)
	}
	return err
}

// readText reads a text file.
func readText(path string) ([]byte, error) {
	f, err := durable.OpenText(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := command.ReadMost(f, largestText)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return text, nil
}
