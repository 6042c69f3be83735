package memory_test

import (
	"strings"
	"testing"

	"atenia/internal/cli"
)

func init() { goldenTopics["cli"] = runCLI }

func runCLI(t *testing.T, c *goldenCase) {
	var in struct {
		Args     []string
		Learning []byte `json:"learning_file"`
	}
	var want struct {
		Exit   int
		Stdout *string
		Prefix string `json:"stdout_prefix"`
		Stderr string
	}
	c.decode(t, &in, &want)
	args := append([]string{"explain"}, in.Args...)
	args = append(args, "--learning="+caseFile(t, in.Learning))
	var out, errs strings.Builder
	code := cli.Main(args, strings.NewReader(""), &out, &errs)
	if code != want.Exit || errs.String() != want.Stderr || !strings.HasPrefix(out.String(), want.Prefix) ||
		want.Stdout != nil && out.String() != *want.Stdout {
		t.Errorf("%q: exit %d, %q, %q; want %d, %q…, %q", args, code, out.String(), errs.String(), want.Exit, want.Prefix, want.Stderr)
	}
}
