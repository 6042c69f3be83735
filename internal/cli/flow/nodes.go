package flow

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"atenia/flow"
	"atenia/flow/graph"
	"atenia/flow/node"
	"atenia/internal/cli/command"

	"github.com/spf13/cobra"
)

// A typeRow is one type as nodes prints it with --json.
type typeRow struct {
	Name     string       `json:"name"`
	Doc      string       `json:"doc"`
	Ins      []string     `json:"inputs"`
	Outs     []string     `json:"outputs"`
	Params   []paramRow   `json:"parameters"`
	Tables   []string     `json:"tables"`
	Settings []settingRow `json:"settings"`
	Adjoint  bool         `json:"adjoint"`
	Dynamic  bool         `json:"dynamic"`
	Jacobian string       `json:"jacobian,omitempty"` // class of the derivative with respect to the inputs
}

type paramRow struct {
	Name    string  `json:"name"`
	Default float64 `json:"default"`
}

type settingRow struct {
	Name    string   `json:"name"`
	Among   []string `json:"among,omitempty"`
	Default string   `json:"default"`
}

func nodes(env *command.Env) *cobra.Command {
	var l libraries
	var verbose bool
	c := &cobra.Command{
		Use:   "nodes [TYPE...]",
		Short: "List node types",
		Long: "List the node types that a plan may use, with ports, parameters and their defaults, and settings. ∇ marks types\n" +
			"with a backward mode. Every type also has the parameter thermo.heat: the joules per frame that a node reports.",
		Example: "  atenia flow nodes\n  atenia flow nodes Biquad Compressor\n  atenia flow nodes --json",
		Args:    cobra.ArbitraryArgs,
	}
	c.ValidArgsFunction = func(_ *cobra.Command, _ []string, typed string) (names []string, _ cobra.ShellCompDirective) {
		for _, t := range flow.ShippedTypes() {
			if strings.HasPrefix(t.Name, typed) {
				names = append(names, t.Name)
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
	l.flags(c)
	c.Flags().BoolVarP(&verbose, "verbose", "v", false, "also list the libraries of C nodes, the CLAP plug-ins and their types")
	c.AddCommand(scanning(env))
	c.RunE = func(c *cobra.Command, args []string) error {
		var rows []typeRow
		all := flow.ShippedTypes()
		var libs []libraryRow
		if verbose || len(l.folders) > 0 {
			more, found, err := l.found(c.Context(), env)
			if err != nil {
				return err
			}
			all, libs = append(all, more...), found
		}
		for i := range all {
			if len(args) == 0 || slices.Contains(args, all[i].Name) {
				rows = append(rows, rowOf(all, &all[i]))
			}
		}
		for _, a := range args {
			if !slices.ContainsFunc(rows, func(r typeRow) bool { return r.Name == a }) {
				return command.Usagef("no type %q: \"atenia flow nodes\" lists all", a)
			}
		}
		if *env.JSON {
			return env.PrintJSON(rows)
		}
		if err := printTypes(env.Out, rows); err != nil || !verbose {
			return err
		}
		return printLibraries(env.Out, libs)
	}
	return c
}

func rowOf(all node.Table, t *node.Type) typeRow {
	r := typeRow{Name: t.Name, Doc: t.Doc, Ins: t.Ins, Outs: t.Outs, Adjoint: t.Adjoint, Dynamic: t.Dynamic}
	if len(t.Ins) > 0 && len(t.Outs) > 0 {
		r.Jacobian = t.Jacobian.String()
	}
	// Properties that depend on settings are shown for a node without settings.
	if spec, err := all.Describe(&graph.Node{Name: t.Name, Type: t.Name, OversampleRatio: 1}); err == nil {
		r.Ins, r.Outs = spec.Ins, spec.Outs
		if len(spec.Ins)*len(spec.Outs) > 0 {
			r.Jacobian = spec.Jacobian.String()
		}
		for _, p := range spec.Params {
			if !p.Table && len(p.Value.Data) == 1 && p.Name != "thermo.heat" {
				r.Params = append(r.Params, paramRow{p.Name, p.Value.Data[0]})
			}
		}
	}
	for _, p := range t.Tables {
		r.Tables = append(r.Tables, p.Name)
	}
	for _, s := range t.Settings {
		row := settingRow{Name: s.Name, Among: s.Among, Default: strconv.Itoa(s.Value)}
		if len(s.Among) > 0 {
			row.Default = s.Among[0]
		}
		if s.Text {
			row.Default = "text"
		}
		r.Settings = append(r.Settings, row)
	}
	return r
}

func printTypes(w io.Writer, rows []typeRow) error {
	var b strings.Builder
	for _, r := range rows {
		mark := ""
		if r.Adjoint {
			mark = " ∇"
		}
		fmt.Fprintf(&b, "%s%s  %s → %s\n", r.Name, mark, ports(r.Ins), ports(r.Outs))
		if r.Doc != "" {
			fmt.Fprintf(&b, "    %s\n", r.Doc)
		}
		var s []string
		for _, p := range r.Params {
			s = append(s, fmt.Sprintf("%s %.6g", p.Name, p.Default))
		}
		line(&b, "parameters", s)
		line(&b, "tables", r.Tables)
		s = nil
		for _, x := range r.Settings {
			if len(x.Among) > 0 {
				s = append(s, x.Name+" "+strings.Join(x.Among, "|"))
			} else {
				s = append(s, x.Name+" "+x.Default)
			}
		}
		line(&b, "settings", s)
		if r.Jacobian != "" {
			line(&b, "jacobian", []string{r.Jacobian})
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func line(b *strings.Builder, what string, s []string) {
	if len(s) > 0 {
		fmt.Fprintf(b, "    %s: %s\n", what, strings.Join(s, ", "))
	}
}

func ports(s []string) string {
	if len(s) == 0 {
		return "·"
	}
	return strings.Join(s, " ")
}
