package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"unicode"
	"unicode/utf8"

	"atenia"
	"atenia/internal/cli/command"
	"atenia/internal/cli/quila"
	"atenia/internal/spelling"

	"github.com/spf13/cobra"
)

func (a *app) inspect() *cobra.Command {
	c := &cobra.Command{
		Use:   "inspect [FILE]",
		Short: "Print the contents of a model file",
		Long: "Print the header of a model file: metadata, tensors and totals. No tensor data is read, and any\n" +
			"architecture is accepted. A neuron-graph model (.sxlm) is verified as well, with its checksums. Values of\n" +
			"texts are quoted as in Go; with --json a name that is no UTF-8 is also given as bytes in base64 (name_bytes,\n" +
			"key_bytes).",
		Example: "  atenia inspect atenia-story\n" +
			"  atenia inspect path/to/folder --json",
		Args: cobra.MaximumNArgs(1),
	}
	var lineage []string
	c.Flags().StringSliceVar(&lineage, "lineage", nil, "for .sxlm: `FILES` or folders to look for the models it comes from")
	c.RunE = func(c *cobra.Command, args []string) error {
		if path := optionalModel(args); quila.IsModel(path) {
			return quila.Inspect(c.Context(), a.env(), path, lineage)
		}
		f, err := atenia.Inspect(optionalModel(args))
		if err != nil {
			return err
		}
		if a.json {
			return a.printJSON(fileJSON(f))
		}
		return a.printFile(f)
	}
	return c
}

func (a *app) printFile(f *atenia.File) error {
	fmt.Fprintf(a.out, "%s: %s, %s, %s parameters, %s (%.2f bits each)\n",
		spelling.Line(f.Path), f.Format, spelling.Count(len(f.Tensors), "tensor"), count(f.Totals.Parameters), command.Size(f.Totals.Bytes), f.Totals.BitsPerParameter)
	if len(f.Metadata) > 0 {
		fmt.Fprintln(a.out, "\nmetadata")
		w := tabwriter.NewWriter(a.out, 0, 8, 2, ' ', 0)
		for _, e := range f.Metadata {
			kind := e.Type
			if e.Elements > 0 {
				kind = fmt.Sprintf("%s ×%d", e.Type, e.Elements)
			}
			fmt.Fprintf(w, "  %s\t%s\t%s\n", spelling.Line(e.Key), kind, oneLine(e.Value))
		}
		w.Flush()
	}
	fmt.Fprintln(a.out, "\ntensors")
	w := tabwriter.NewWriter(a.out, 0, 8, 2, ' ', 0)
	for _, t := range f.Tensors {
		fmt.Fprintf(w, "  %s\t%s\t%v\t%s\t@%d\n", spelling.Line(t.Name), t.DType, t.Shape, command.Size(t.Bytes), t.Offset)
	}
	w.Flush()
	fmt.Fprintln(a.out, "\ntypes")
	w = tabwriter.NewWriter(a.out, 0, 8, 2, ' ', 0)
	for _, t := range f.Totals.Types {
		fmt.Fprintf(w, "  %s\t%s\t%s parameters\t%s\n", t.DType, spelling.Count(t.Tensors, "tensor"), count(t.Parameters), command.Size(t.Bytes))
	}
	return w.Flush()
}

// oneLine truncates a value to the width beside its key.
func oneLine(s string) string {
	s = strings.ReplaceAll(s, "\n", `\n`)
	const width = 80
	if r := []rune(s); len(r) > width {
		return string(r[:width]) + "…"
	}
	return s
}

// namesEscaped escapes names that a user gave, such as of files, where a message has them.
func namesEscaped(text string, args []string) string {
	for _, name := range args {
		if strings.ContainsFunc(name, unicode.IsControl) {
			text = strings.ReplaceAll(text, name, spelling.Line(name))
		}
	}
	return text
}

// exact returns the bytes of a name that JSON cannot hold as a text, nil if it can.
func exact(name string) []byte {
	if utf8.ValidString(name) {
		return nil
	}
	return []byte(name)
}

// count prints a number of parameters as a person reads it.
func count(n int64) string {
	v, unit := float64(n), ""
	for _, u := range []string{"K", "M", "B", "T"} {
		if v < 1000 {
			break
		}
		v, unit = v/1000, u
	}
	if unit == "" {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%.2f%s", v, unit)
}

func fileJSON(f *atenia.File) any {
	type entry struct {
		Key      string `json:"key"`
		KeyBytes []byte `json:"key_bytes,omitempty"` // if it is no UTF-8
		Type     string `json:"type"`
		Value    string `json:"value"`
		Elements int    `json:"elements,omitempty"`
	}
	type tensorInfo struct {
		Name      string `json:"name"`
		NameBytes []byte `json:"name_bytes,omitempty"` // if it is no UTF-8
		DType     string `json:"dtype"`
		Shape     []int  `json:"shape"`
		Bytes     int64  `json:"bytes"`
		File      string `json:"file,omitempty"`
		Offset    int64  `json:"offset"`
	}
	type typeTotals struct {
		DType      string `json:"dtype"`
		Tensors    int    `json:"tensors"`
		Parameters int64  `json:"parameters"`
		Bytes      int64  `json:"bytes"`
	}
	out := struct {
		Path             string       `json:"path"`
		Format           string       `json:"format"`
		Parameters       int64        `json:"parameters"`
		Bytes            int64        `json:"bytes"`
		FileBytes        int64        `json:"file_bytes"`
		BitsPerParameter float64      `json:"bits_per_parameter"`
		Metadata         []entry      `json:"metadata"`
		Tensors          []tensorInfo `json:"tensors"`
		Types            []typeTotals `json:"types"`
	}{
		Path: f.Path, Format: f.Format, Parameters: f.Totals.Parameters, Bytes: f.Totals.Bytes, FileBytes: f.Totals.FileBytes,
		BitsPerParameter: f.Totals.BitsPerParameter, Metadata: []entry{}, Tensors: []tensorInfo{}, Types: []typeTotals{},
	}
	for _, e := range f.Metadata {
		out.Metadata = append(out.Metadata, entry{e.Key, exact(e.Key), e.Type, e.Value, e.Elements})
	}
	for _, t := range f.Tensors {
		shape := append([]int{}, t.Shape...) // a scalar's is [], not null
		out.Tensors = append(out.Tensors, tensorInfo{t.Name, exact(t.Name), t.DType.String(), shape, t.Bytes, t.File, t.Offset})
	}
	for _, t := range f.Totals.Types {
		out.Types = append(out.Types, typeTotals{t.DType.String(), t.Tensors, t.Parameters, t.Bytes})
	}
	return out
}
