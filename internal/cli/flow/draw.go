package flow

import (
	"fmt"
	"io"
	"path/filepath"

	"atenia/flow/view"
	"atenia/internal/cli/command"
	"atenia/internal/spelling"
	"atenia/internal/store/durable"

	"github.com/spf13/cobra"
)

func drawing(env *command.Env) *cobra.Command {
	var src source
	var out string
	c := &cobra.Command{
		Use:   "draw GRAPH",
		Short: "Draw a plan as SVG",
		Long: "Draw a linked plan: nodes by stage, edges with rates and delays, modulations, gates, cycles, and the latency of\n" +
			"each node. Without --out the SVG goes to standard output.",
		Example: "  atenia flow draw effects.json --out effects.svg\n  atenia flow draw effects.json --rate 44100 > effects.svg",
		Args:    cobra.ExactArgs(1),
	}
	src.flags(c)
	c.Flags().StringVarP(&out, "out", "o", "", "output `FILE` (default: standard output)")
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		p, err := src.parse(args[0])
		if err != nil {
			return err
		}
		if err := src.complete(p, args[0]); err != nil {
			return err
		}
		types, close, err := src.types(c.Context(), env, p)
		if err != nil {
			return err
		}
		defer closing(&err, close)
		l, err := src.link(p, types)
		if err != nil {
			return fmt.Errorf("%s: %w", args[0], err)
		}
		svg := view.SVG(l, view.SVGOptions{Title: filepath.Base(args[0]), SampleRate: src.rate})
		if out == "" {
			_, err := env.Out.Write(svg)
			return err
		}
		if err := durable.WriteFile(out, func(w io.Writer) error { _, err := w.Write(svg); return err }); err != nil {
			return err
		}
		if *env.JSON {
			return env.PrintJSON(struct {
				Path  string `json:"path"`
				Bytes int    `json:"bytes"`
			}{out, len(svg)})
		}
		_, err = fmt.Fprintf(env.Out, "%s: %s\n", out, spelling.Count(len(svg), "byte"))
		return err
	}
	return c
}
