package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"unicode/utf8"

	"atenia/internal/spelling"
	"atenia/internal/store/durable"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// man writes manual pages. It is hidden: who packages the program calls it.
func (a *app) man() *cobra.Command {
	c := &cobra.Command{
		Use:     "man DIR",
		Short:   "Write the manual pages",
		Long:    "Write a manual page for every command into DIR, which is created if it does not exist.",
		Example: "  atenia man share/man/man1 && man -l share/man/man1/atenia-run.1",
		Args:    cobra.ExactArgs(1),
		Hidden:  true,
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := os.MkdirAll(args[0], 0o777); err != nil {
			return err
		}
		pages := manPages(c.Root())
		var names []string
		for _, p := range pages {
			name := filepath.Join(args[0], manName(p)+".1")
			if err := durable.WriteFile(name, func(w io.Writer) error { return writeMan(w, p) }); err != nil {
				return err
			}
			names = append(names, name)
		}
		if a.json {
			return a.printJSON(names)
		}
		_, err := fmt.Fprintf(a.out, "%s in %s\n", spelling.Count(len(names), "manual page"), args[0])
		return err
	}
	return c
}

// manPages returns the commands that have a page: c and those below it that are
// not hidden, including help topics.
func manPages(c *cobra.Command) []*cobra.Command {
	pages := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		if !sub.Hidden {
			pages = append(pages, manPages(sub)...)
		}
	}
	return pages
}

// manName is the name of a command's page: atenia-bench-kernels.
func manName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// writeMan writes the page of a command in the macros of man(7).
func writeMan(w io.Writer, c *cobra.Command) error {
	c.InitDefaultHelpFlag()
	info, _ := debug.ReadBuildInfo()
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"atenia %s\" \"Atenia Manual\"\n", strings.ToUpper(manText(manName(c))), manText(versionOf(info).Version))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", manText(manName(c)), manText(c.Short))
	if c.Runnable() {
		fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", manText(c.CommandPath()))
		if rest := strings.TrimSpace(strings.TrimPrefix(c.UseLine(), c.CommandPath())); rest != "" {
			fmt.Fprintf(&b, "%s\n", manText(rest))
		}
	}
	b.WriteString(".SH DESCRIPTION\n")
	manProse(&b, c.Long)
	manFlags(&b, "OPTIONS", c.NonInheritedFlags())
	manFlags(&b, "OPTIONS OF ALL COMMANDS", c.InheritedFlags())
	if c.Example != "" {
		b.WriteString(".SH EXAMPLES\n.nf\n")
		for line := range strings.SplitSeq(c.Example, "\n") {
			b.WriteString(manText(strings.TrimPrefix(line, "  ")) + "\n")
		}
		b.WriteString(".fi\n")
	}
	if c.Runnable() {
		b.WriteString(".SH EXIT STATUS\n")
		manProse(&b, exitHelp)
	}
	manOthers(&b, c)
	_, err := io.WriteString(w, b.String())
	return err
}

// manOthers lists the pages above and below.
func manOthers(b *strings.Builder, c *cobra.Command) {
	var names []string
	if c.HasParent() {
		names = append(names, manName(c.Parent()))
	}
	for _, sub := range c.Commands() {
		if !sub.Hidden {
			names = append(names, manName(sub))
		}
	}
	for i, name := range names {
		names[i] = ".BR " + manText(name) + " (1)"
	}
	b.WriteString(".SH SEE ALSO\n" + strings.Join(names, ",\n") + "\n")
}

// manFlags lists flags under a heading, if there are any.
func manFlags(b *strings.Builder, heading string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(b, ".SH %s\n", heading)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		b.WriteString(".TP\n")
		if f.Shorthand != "" {
			fmt.Fprintf(b, "\\fB\\-%s\\fR, ", manText(f.Shorthand))
		}
		fmt.Fprintf(b, "\\fB\\-\\-%s\\fR", manText(f.Name))
		if value != "" {
			fmt.Fprintf(b, " \\fI%s\\fR", manText(value))
		}
		b.WriteString("\n" + manText(strings.ReplaceAll(usage, "\n", " ")))
		if !isZero(f) {
			fmt.Fprintf(b, " (default %s)", manText(f.DefValue))
		}
		b.WriteString("\n")
	})
}

// isZero reports whether a flag's default says nothing.
func isZero(f *pflag.Flag) bool {
	switch f.DefValue {
	case "", "0", "false", "[]", "0s":
		return true
	}
	return false
}

// manProse writes paragraphs. Indented lines are not filled.
func manProse(b *strings.Builder, text string) {
	verbatim, begun := false, false
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		indented := strings.HasPrefix(line, " ") && strings.TrimSpace(line) != ""
		switch {
		case indented && !verbatim:
			b.WriteString(".nf\n")
		case verbatim && !indented:
			b.WriteString(".fi\n")
		}
		verbatim = indented
		switch {
		case line != "":
			b.WriteString(manText(line) + "\n")
		case begun:
			b.WriteString(".PP\n")
		}
		begun = true
	}
	if verbatim {
		b.WriteString(".fi\n")
	}
}

// manText escapes what troff would take for its own.
func manText(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", "\\`", `"`, `\(dq`).Replace(s)
	var b strings.Builder
	if strings.HasPrefix(s, ".") {
		b.WriteString(`\&`)
	}
	for _, r := range s {
		if r < utf8.RuneSelf {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\[u%04X]`, r)
		}
	}
	return b.String()
}
