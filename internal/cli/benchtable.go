package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"atenia/internal/spelling"
	"atenia/internal/store/durable"
	"atenia/place"

	"github.com/spf13/cobra"
)

// A benchTable is one call of bench table.
type benchTable struct {
	benchRun
	markdown, section string
}

func (a *app) benchTable() *cobra.Command {
	t := &benchTable{}
	c := &cobra.Command{
		Use:   "table MODEL...",
		Short: "Measure several models and print a table",
		Long: "Measure each model as \"atenia bench\" does, and print one table in Markdown: medians with minimum and\n" +
			"maximum, ratios to the fastest of the other programs, and shares of the machine's limits. With --markdown,\n" +
			"replace the part of a file between the lines\n\n" +
			"  <!-- bench SECTION -->\n" +
			"  <!-- end of bench SECTION -->",
		Example: "  atenia bench table a.gguf b.gguf -r 1 -t 2 --vs path/to/llama-bench\n" +
			"  atenia bench table a.gguf -p 0 -n 32 -d 1900 --vs path/to/llama-bench --markdown docs/performance.md --section depth",
		Args: cobra.MinimumNArgs(1),
	}
	f := c.Flags()
	t.register(f)
	f.StringVar(&t.markdown, "markdown", "", "replace a section of `FILE` instead of printing")
	f.StringVar(&t.section, "section", "single", "name of the section to replace")
	f.StringVar(&t.out, "out", "", "also write the results as JSON to `FILE`")
	c.RunE = func(c *cobra.Command, args []string) error {
		t.given = c.Flags().Changed
		return t.run(c.Context(), a, args)
	}
	return c
}

func (t *benchTable) run(ctx context.Context, a *app, models []string) error {
	var file []byte
	if t.markdown != "" {
		var err error
		if file, err = readFile(t.markdown); err != nil {
			return fmt.Errorf("--markdown: %w", err)
		}
		if _, err := replaceSection(file, t.section, nil); err != nil { // before minutes of measuring
			return fmt.Errorf("--markdown: %s: %w", t.markdown, err)
		}
	}
	var results []*benchResult
	for _, path := range models {
		if fi, err := durable.Stat(path); path != place.Embedded && (err != nil || fi.IsDir()) {
			return cmp.Or(err, fmt.Errorf("%s: want a model file", path))
		}
		one := t.benchRun // a copy, because it is changed
		one.path, one.out = path, ""
		fmt.Fprintln(a.progress(), path)
		r, err := one.run(ctx, a)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		results = append(results, r)
	}
	text := markdownTable(results, t.neighbours)
	print := func() error { _, err := io.WriteString(a.out, text); return err }
	switch {
	case a.json:
		print = func() error { return a.printJSON(results) }
	case t.markdown != "":
		print = func() error { return t.write(file, text) }
	}
	return errors.Join(print(), saveJSON(t.out, results))
}

func (t *benchTable) write(file []byte, text string) error {
	file, err := replaceSection(file, t.section, []byte(text))
	if err != nil {
		return err
	}
	return durable.WriteFile(t.markdown, func(w io.Writer) error { _, err := w.Write(file); return err })
}

// replaceSection returns a file with another text between the lines of a
// section.
func replaceSection(file []byte, section string, text []byte) ([]byte, error) {
	begin, end := fmt.Appendf(nil, "<!-- bench %s -->\n", section), fmt.Appendf(nil, "<!-- end of bench %s -->", section)
	head, rest, ok := bytes.Cut(file, begin)
	_, tail, closed := bytes.Cut(rest, end)
	if !ok || !closed {
		return nil, fmt.Errorf("no lines %q and %q", bytes.TrimSpace(begin), end)
	}
	return bytes.Join([][]byte{head, begin, text, end, tail}, nil), nil
}

// markdownTable shows results that were measured with the same peers.
func markdownTable(results []*benchResult, neighbours int) string {
	var b strings.Builder
	first := results[0]
	var peers []versusPeer
	if first.Versus != nil {
		peers = first.Versus.Peers
	}
	b.WriteString("| model | test | atenia |")
	for _, p := range peers {
		fmt.Fprintf(&b, " %s |", p.Name)
	}
	if len(peers) > 0 {
		b.WriteString(" ratio to the best |")
	}
	b.WriteString(" share of the roof |\n|---|---|" + strings.Repeat("---|", len(peers)+2))
	if len(peers) > 0 {
		b.WriteString("---|")
	}
	b.WriteString("\n")
	for _, r := range results {
		for i, row := range r.rows() {
			fmt.Fprintf(&b, "| %s | %s | %s |", strings.TrimSuffix(filepath.Base(r.Model), ".gguf"), row.name, row.rate)
			if r.Versus != nil {
				v := r.Versus.Rows[i]
				for _, t := range v.Theirs {
					fmt.Fprintf(&b, " %s |", t)
				}
				fmt.Fprintf(&b, " **%.2f** (%.2f–%.2f) |", v.Ratio, v.Low, v.High)
			}
			fmt.Fprintf(&b, " %s |\n", r.share(&row))
		}
	}
	fmt.Fprintf(&b, "\n%s, %s kernels", spelling.Count(first.Threads, "thread"), first.Variant)
	if neighbours > 0 {
		fmt.Fprintf(&b, ", beside %s", spelling.Count(neighbours, "busy process"))
	}
	if first.Versus != nil {
		fmt.Fprintf(&b, ", %s in turns", spelling.Count(first.Versus.Rounds, "round"))
	}
	b.WriteString("; tokens a second, median (smallest–largest).")
	for _, p := range peers {
		command := strings.Fields(p.Command)
		command[0] = filepath.Base(command[0])
		fmt.Fprintf(&b, " %s is `%s`", p.Name, strings.Join(command, " "))
		if p.Build != "" {
			fmt.Fprintf(&b, " (%s)", p.Build)
		}
		b.WriteString(".")
	}
	b.WriteString("\n")
	return b.String()
}

// String returns the median with the smallest and the largest.
func (r rate) String() string { return fmt.Sprintf("%.1f (%.1f–%.1f)", r.Median, r.Min, r.Max) }

// share returns the share of its roof that a test reaches; after a context,
// decoding also reads cached rows.
func (r *benchResult) share(row *benchRow) string {
	switch {
	case row.prompt > 0 && r.Int8Ops > r.FloatOps:
		return fmt.Sprintf("%.0f %% of %.0f GOP/s", 100*r.OpsShare, r.DotOPS/1e9)
	case row.prompt > 0:
		return fmt.Sprintf("%.0f %% of %.0f GFLOP/s", 100*r.OpsShare, r.FLOPS/1e9)
	case row.depth > 0:
		return fmt.Sprintf("%.2f of no depth", row.Median/r.Decode.Median)
	}
	return fmt.Sprintf("%.0f %% of %.1f GB/s", 100*r.Share, r.Bandwidth/1e9)
}
