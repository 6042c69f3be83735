package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"atenia/internal/cli/command"

	"github.com/spf13/cobra"
)

// TestCrash: a panic of a command is exit code 1, a report and what to do with it.
func TestCrash(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	for _, c := range []struct {
		name string
		full bool // the folder of state cannot be written
	}{{"state", false}, {"temporary", true}} {
		t.Run(c.name, func(t *testing.T) {
			where := filepath.Join(state, "atenia")
			if c.full {
				t.Setenv("XDG_STATE_HOME", filepath.Join(state, "file"))
				if err := os.WriteFile(filepath.Join(state, "file"), nil, 0o666); err != nil {
					t.Fatal(err)
				}
				where = t.TempDir()
				t.Setenv("TMPDIR", where)
			}
			var out, errw bytes.Buffer
			a := &app{in: strings.NewReader(""), out: &out, err: &errw, args: []string{"break", "a file"}}
			root := a.root()
			root.AddCommand(&cobra.Command{Use: "break", RunE: func(_ *cobra.Command, args []string) error {
				panic("planted in " + args[0])
			}})
			if code := a.main(root); code != command.Failure {
				t.Errorf("exit code %d", code)
			}
			said := errw.String()
			if strings.Contains(said, "goroutine ") || !strings.Contains(said, "planted in a file") || !strings.Contains(said, "please send") {
				t.Errorf("it said %q", said)
			}
			_, name, _ := strings.Cut(strings.TrimSpace(said), "report: ")
			if filepath.Dir(name) != where {
				t.Errorf("the report is %s, want one in %s", name, where)
			}
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{"command  atenia break 'a file'", "TestCrash", "planted in a file"} {
				if !strings.Contains(string(b), want) {
					t.Errorf("the report does not have %q:\n%s", want, b)
				}
			}
		})
	}
}
