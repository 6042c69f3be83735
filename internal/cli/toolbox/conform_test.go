package toolbox

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// conform is what a client does that the conformance suite starts: it calls each tool of
// a server, with numbers for numbers.
func conform(url string) error {
	ctx := context.Background()
	b, err := Open(ctx, map[string]Server{"suite": {URL: url}}, "test", os.Stderr)
	if err != nil {
		return err
	}
	for _, tool := range b.Tools() {
		var schema struct {
			Properties map[string]struct{ Type string }
		}
		if err := json.Unmarshal(tool.Parameters, &schema); err != nil {
			return err
		}
		args := map[string]any{}
		for name, p := range schema.Properties {
			if args[name] = "text"; p.Type == "number" {
				args[name] = len(args)
			}
		}
		in, err := json.Marshal(args)
		if err != nil {
			return err
		}
		if _, err := b.Call(ctx, tool.Name, in); err != nil {
			return err
		}
	}
	return b.Close()
}

// TestConformance runs the scenarios of the MCP conformance suite that are about what
// this client has. ATENIA_MCP_CONFORMANCE is the command of the suite. Scenarios
// of OAuth and of elicitation are not run: keys are given as headers, and a server
// cannot ask the user.
func TestConformance(t *testing.T) {
	suite := os.Getenv("ATENIA_MCP_CONFORMANCE")
	if suite == "" {
		t.Skip("ATENIA_MCP_CONFORMANCE is not set: docs/serving.md says how to get it")
	}
	for _, scenario := range []string{"initialize", "tools_call", "sse-retry"} {
		c := exec.CommandContext(t.Context(), "sh", "-c", suite+` client --scenario "$0" --command "$1"`, scenario, os.Args[0])
		c.Env, c.Dir = append(os.Environ(), "ATENIA_TOOLBOX_TEST=client"), t.TempDir()
		out, err := c.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", scenario, err, out[max(0, len(out)-3000):])
		}
		for line := range strings.Lines(string(out)) {
			if strings.Contains(line, "assed") {
				t.Logf("%s: %s", scenario, strings.TrimSpace(line))
			}
		}
	}
}
