package toolbox

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// conform is what a client does that the conformance suite starts: it calls each tool of
// a server, with numbers for numbers. A page to log in at is opened as a browser would, and
// what a server asks the user for is its default.
func conform(url string) error {
	ctx := context.Background()
	s := Server{URL: url}
	var given struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
	}
	if text := os.Getenv("MCP_CONFORMANCE_CONTEXT"); text != "" {
		if err := json.Unmarshal([]byte(text), &given); err != nil {
			return err
		}
	}
	if given.ID != "" {
		s.OAuth = &OAuth{ClientID: given.ID, ClientSecret: given.Secret}
	} else if os.Getenv("MCP_CONFORMANCE_SCENARIO") == "auth/basic-cimd" {
		s.OAuth = &OAuth{ClientID: "https://conformance-test.local/client-metadata.json"}
	}
	var browser sync.WaitGroup
	defer browser.Wait()
	person := Person{
		Visit: func(ctx context.Context, _, url string) error {
			browser.Go(func() {
				if res, err := http.Get(url); err == nil {
					io.Copy(io.Discard, res.Body)
					res.Body.Close()
				}
			})
			return nil
		},
		Ask: func(_ context.Context, prompt string) (string, error) {
			if strings.HasSuffix(prompt, "y, n: ") {
				return "y", nil
			}
			return "", nil
		},
	}
	b, err := Open(ctx, map[string]Server{"suite": s}, Options{Version: "test", Err: os.Stderr, Person: person})
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

// TestConformance runs the scenarios of the MCP conformance suite for clients. ATENIA_MCP_CONFORMANCE
// is the command of the suite. Its three extensions are not run: two logins of programs
// without a user, and one with the identity of a company.
func TestConformance(t *testing.T) {
	suite := os.Getenv("ATENIA_MCP_CONFORMANCE")
	if suite == "" {
		t.Skip("ATENIA_MCP_CONFORMANCE is not set: docs/serving.md says how to get it")
	}
	run := func(scenario string) (string, error) {
		c := exec.CommandContext(t.Context(), "sh", "-c", suite+` client --scenario "$0" --command "$1"`, scenario, os.Args[0])
		c.Env, c.Dir = append(os.Environ(), "ATENIA_TOOLBOX_TEST=client"), t.TempDir()
		out, err := c.CombinedOutput()
		return string(out), err
	}
	c := exec.CommandContext(t.Context(), "sh", "-c", suite+" list --client")
	list, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for line := range strings.Lines(string(list)) {
		name, what, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "- "), " ")
		if !ok || strings.Contains(what, "extension") || !strings.HasPrefix(what, "[") {
			continue
		}
		ran++
		if out, err := run(name); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out[max(0, len(out)-3000):])
		}
	}
	if ran < 23 { // of version 0.1.16
		t.Errorf("%d scenarios ran, want 23", ran)
	}
}
