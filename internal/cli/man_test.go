package cli

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// request is a line that troff takes for its own, as this program writes them.
var request = regexp.MustCompile(`^\.(TH|SH|PP|TP|nf|fi|B|BR)( .+)?$`)

// TestMan checks that every command has a well-formed page with all of its
// flags.
func TestMan(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man1")
	cliCall(t, "man", dir)
	root := (&app{}).root()
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	pages := map[string]bool{}
	check := func(c *cobra.Command) {
		if c.Hidden {
			return
		}
		name := manName(c) + ".1"
		pages[name] = true
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
			return
		}
		text := string(b)
		wellFormed(t, name, text)
		see := func(f *pflag.Flag) {
			if want := `\fB\-\-` + strings.ReplaceAll(f.Name, "-", `\-`) + `\fR`; !f.Hidden && !strings.Contains(text, want) {
				t.Errorf("%s: no flag --%s", name, f.Name)
			}
		}
		c.LocalFlags().VisitAll(see)
		c.InheritedFlags().VisitAll(see)
	}
	check(root)
	each(root, check)
	all, err := os.ReadDir(dir)
	if err != nil || len(all) != len(pages) || len(all) < 40 {
		t.Errorf("%d pages for %d commands: %v", len(all), len(pages), err)
	}
}

// wellFormed checks that the title is first, the sections are in order, and no
// line would be misread by troff.
func wellFormed(t *testing.T, name, text string) {
	t.Helper()
	if !strings.HasPrefix(text, ".TH ATENIA") || !strings.Contains(text, "\n.SH NAME\natenia") || !strings.Contains(text, "\n.SH DESCRIPTION\n") || !strings.HasSuffix(text, ".BR atenia (1)\n") && !strings.Contains(text, "\n.SH SEE ALSO\n.BR ") {
		t.Errorf("%s: the title or a section is missing:\n%.400s", name, text)
	}
	fill, last := 0, ""
	for s := bufio.NewScanner(strings.NewReader(text)); s.Scan(); last = s.Text() {
		line := s.Text()
		switch {
		case line == ".nf":
			fill++
		case line == ".fi":
			fill--
		case strings.HasPrefix(line, ".SH") && strings.HasPrefix(last, ".SH"):
			t.Errorf("%s: %q is empty", name, last)
		}
		if (strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'")) && !request.MatchString(line) {
			t.Errorf("%s: no request of troff: %q", name, line)
		}
	}
	if fill != 0 {
		t.Errorf("%s: .nf without .fi", name)
	}
}

// TestManRenders runs man itself, if installed.
func TestManRenders(t *testing.T) {
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	cliCall(t, "man", dir)
	out, err := exec.CommandContext(t.Context(), groff, "-man", "-Tutf8", "-ww", "-z", filepath.Join(dir, "atenia-run.1")).CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}
