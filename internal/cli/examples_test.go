package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"atenia/internal/cli/command"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// measures are the examples that need no file and keep a machine busy for long
// or depend on it: they are parsed.
var measures = []string{
	"atenia bench kernels", "atenia bench ssd", "atenia bench mem", "atenia bench codec", "atenia bench train-offload", "atenia flow bench",
	"atenia serve", "atenia quila train", "atenia quila coders", "atenia quila conformance",
}

// TestExamples runs the examples of every command, as one would paste them, that
// need no file but those that examples make and the embedded model. Others must
// have flags and arguments that exist.
func TestExamples(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Chdir(t.TempDir())
	ran, parsed := 0, 0
	root := (&app{}).root()
	check := func(c *cobra.Command) {
		if c.Hidden || !c.Runnable() {
			return
		}
		if c.Example == "" {
			t.Errorf("%s has no example", c.CommandPath())
		}
		if c.Short == "" || c.Long == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: want a short text without a period, and a long one", c.CommandPath())
		}
		for line := range strings.SplitSeq(c.Example, "\n") {
			for part := range strings.SplitSeq(line, "&&") {
				e, err := parseExample(part)
				switch {
				case err != nil:
					t.Errorf("%q: %v", line, err)
				case e.runs():
					ran++
					e.run(t)
				default:
					parsed++
					e.parse(t)
				}
			}
		}
	}
	check(root)
	each(root, check)
	if ran < 15 || parsed < 50 {
		t.Errorf("%d examples ran and %d were parsed", ran, parsed)
	}
}

// An example is one line of a command's examples.
type example struct {
	line  string
	input string   // what a pipe brings
	args  []string // without the program's name
	file  string   // that takes the output
}

// parseExample reads the little of a shell's language that examples use.
func parseExample(line string) (*example, error) {
	e := &example{line: strings.TrimSpace(line)}
	text, _, _ := strings.Cut(e.line, " # ")
	if left, right, ok := strings.Cut(text, " | "); ok {
		words, err := split(left)
		if err != nil || len(words) != 2 {
			return nil, fmt.Errorf("pipe of %q: %v", words, err)
		}
		if e.input, text = words[1]+"\n", right; words[0] == "cat" {
			e.input = "text\n"
		}
	}
	if left, file, ok := strings.Cut(text, " > "); ok {
		text, e.file = left, strings.TrimSpace(file)
	}
	words, err := split(strings.TrimSpace(text))
	for len(words) > 0 && strings.Contains(words[0], "=") { // a variable of the environment
		words = words[1:]
	}
	if err != nil || len(words) == 0 || words[0] != "atenia" {
		return nil, fmt.Errorf("want a line that calls atenia, got %q, %v", words, err)
	}
	e.args = words[1:]
	return e, nil
}

// runs reports whether the example needs nothing that is not there.
func (e *example) runs() bool {
	for _, m := range measures {
		if strings.HasPrefix(e.line, m) {
			return false
		}
	}
	c, rest, err := (&app{}).root().Find(e.args)
	if err != nil {
		return false
	}
	for i, w := range rest {
		out := i > 0 && (rest[i-1] == "--out" || rest[i-1] == "-o") || c.Name() == "quantize" && i == 1
		if out || strings.Contains(w, " ") {
			continue
		}
		_, missing := os.Stat(w)
		if missing != nil && (strings.ContainsAny(w, "/$") || filepath.Ext(w) != "" || w == strings.ToUpper(w) && len(w) > 1 && w[0] >= 'A') {
			return false
		}
	}
	return !needsFile[c.CommandPath()]
}

// needsFile are commands whose examples name folders by plain words.
var needsFile = map[string]bool{
	"atenia checkpoint": true, "atenia checkpoint save": true, "atenia checkpoint inspect": true, "atenia checkpoint verify": true, "atenia checkpoint restore": true, "atenia checkpoint gc": true,
}

func (e *example) run(t *testing.T) {
	t.Helper()
	var out, errw bytes.Buffer
	if code := Main(e.args, strings.NewReader(e.input), &out, &errw); code != command.OK {
		t.Errorf("%q: exit %d, %s", e.line, code, errw.String())
	}
	if e.file != "" {
		if err := os.WriteFile(e.file, out.Bytes(), 0o666); err != nil {
			t.Error(err)
		}
	}
}

func (e *example) parse(t *testing.T) {
	t.Helper()
	c, rest, err := (&app{}).root().Find(e.args)
	if err == nil {
		c.Flags().AddFlagSet(c.InheritedFlags())
		if err = c.ParseFlags(rest); err == nil {
			err = c.Args(c, c.Flags().Args())
		}
	}
	if err != nil {
		t.Errorf("%q: %v", e.line, err)
	}
}

// TestUsages checks that the usage of every flag has the form of the go
// command: a phrase of a line that fits beside the flag, and no sentence.
func TestUsages(t *testing.T) {
	root := (&app{}).root()
	check := func(c *cobra.Command) {
		c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			for line := range strings.SplitSeq(f.Usage, "\n") {
				if !c.Hidden && (line == "" || strings.HasSuffix(line, ".") || len(line) > 120) {
					t.Errorf("%s --%s: %q", c.CommandPath(), f.Name, line)
				}
			}
		})
	}
	check(root)
	each(root, check)
}
