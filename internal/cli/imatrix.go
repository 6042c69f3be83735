package cli

import (
	"fmt"
	"path/filepath"

	"atenia"
	"atenia/internal/cli/command"
	"atenia/internal/spelling"

	"github.com/spf13/cobra"
)

// imatrixResult is what imatrix prints with --json.
type imatrixResult struct {
	Path    string `json:"path"`
	Windows int    `json:"windows"`
	Tokens  int    `json:"tokens"`
	Tensors int    `json:"tensors"`
}

func (a *app) imatrix() *cobra.Command {
	var mf modelFlags
	var o atenia.ImportanceOptions
	var text, out string
	c := &cobra.Command{
		Use:   "imatrix [MODEL]",
		Short: "Measure which weights matter, for quantize",
		Long: "Run a model on a text and write an importance matrix: how large the activations are that each column of\n" +
			"each weight is multiplied with. \"atenia quantize --imatrix\" keeps the columns that matter more exact. The file\n" +
			"is that of llama.cpp's imatrix.",
		Example: "  atenia imatrix model.gguf --text calibration.txt --out imatrix.gguf\n" +
			"  atenia quantize model.gguf small.gguf --type q4_k_m --imatrix imatrix.gguf",
		Args: cobra.MaximumNArgs(1),
	}
	mf.registerRunning(c.Flags())
	c.Flags().StringVar(&text, "text", "", "run on the text in `FILE`")
	c.Flags().StringVar(&out, "out", "imatrix.gguf", "write the matrix to `FILE`")
	c.Flags().IntVar(&o.Window, "window", 0, "tokens that are computed together (0 = 512, or the context, if that is shorter)")
	c.RunE = func(c *cobra.Command, args []string) error {
		if text == "" {
			return command.Usagef("imatrix: give a --text")
		}
		content, err := readText(text)
		if err != nil {
			return err
		}
		bar := &bar{w: a.progress()}
		o.Dataset = filepath.Base(text)
		o.Progress = func(done, total int) { bar.show(int64(done), int64(total), "windows") }
		r, err := atenia.MeasureImportance(c.Context(), optionalModel(args), out, content, &mf.cfg, o)
		bar.clear()
		if err != nil {
			return err
		}
		if a.json {
			return a.printJSON(imatrixResult{out, r.Windows, r.Tokens, r.Tensors})
		}
		_, err = fmt.Fprintf(a.out, "%s: %s, from %d tokens in %s\n", out, spelling.Count(r.Tensors, "tensor"), r.Tokens, spelling.Count(r.Windows, "window"))
		return err
	}
	return c
}
