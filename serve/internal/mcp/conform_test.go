package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// suiteTools are tools and resources that scenarios of the conformance suite ask for by
// name, made as this package makes its own.
func (s *Server) suiteTools() {
	type none struct{}
	add := func(name string, call func(context.Context, *sdk.CallToolRequest, *none) (textOutput, string, error)) {
		addTool(s, tool[none, textOutput]{name, "of the suite", `{"type":"object"}`, textResult, call})
	}
	add("test_simple_text", func(context.Context, *sdk.CallToolRequest, *none) (textOutput, string, error) {
		const text = "This is a simple text response for testing."
		return textOutput{text}, text, nil
	})
	add("test_error_handling", func(context.Context, *sdk.CallToolRequest, *none) (textOutput, string, error) {
		return textOutput{}, "", errors.New("This tool intentionally returns an error for testing")
	})
	add("test_tool_with_progress", func(ctx context.Context, req *sdk.CallToolRequest, _ *none) (textOutput, string, error) {
		for i := range 3 {
			if err := progress(ctx, req, "step", 50*i, 100); err != nil {
				return textOutput{}, "", err
			}
			time.Sleep(50 * time.Millisecond)
		}
		return textOutput{"done"}, "done", nil
	})
	read := func(f func(*sdk.ResourceContents)) sdk.ResourceHandler {
		return func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			c := &sdk.ResourceContents{URI: r.Params.URI, MIMEType: "text/plain"}
			f(c)
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{c}}, nil
		}
	}
	s.sdk.AddResource(&sdk.Resource{URI: "test://static-text", Name: "text"}, read(func(c *sdk.ResourceContents) { c.Text = "This is the content of the static text resource." }))
	s.sdk.AddResource(&sdk.Resource{URI: "test://static-binary", Name: "binary"}, read(func(c *sdk.ResourceContents) { c.MIMEType, c.Blob = "image/png", []byte("\x89PNG") }))
	s.sdk.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: "test://template/{id}/data", Name: "template"}, read(func(c *sdk.ResourceContents) {
		var id int
		fmt.Sscanf(c.URI, "test://template/%d/data", &id)
		b, _ := json.Marshal(map[string]any{"id": fmt.Sprint(id), "templateTest": true, "data": fmt.Sprintf("Data for ID: %d", id)})
		c.MIMEType, c.Text = jsonType, string(b)
	}))
}

// TestConformance runs scenarios of the MCP conformance suite over streamable HTTP, those
// about what this server does at all: it has no prompts, completions, subscriptions
// or media, logs nothing to clients, and asks them nothing. ATENIA_MCP_CONFORMANCE is
// the command of the suite.
func TestConformance(t *testing.T) {
	suite := os.Getenv("ATENIA_MCP_CONFORMANCE")
	if suite == "" {
		t.Skip("ATENIA_MCP_CONFORMANCE is not set: docs/serving.md says how to get it")
	}
	s := New(testConfig(t))
	s.suiteTools()
	web := httptest.NewServer(s.Handler())
	defer web.Close()
	for _, scenario := range []string{"tools-call-simple-text", "tools-call-error", "tools-call-with-progress", "resources-read-text", "resources-read-binary", "resources-templates-read"} {
		c := exec.CommandContext(t.Context(), "sh", "-c", suite+` server --scenario "$0" --url "$1"`, scenario, web.URL)
		c.Dir = t.TempDir()
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", scenario, err, out[max(0, len(out)-3000):])
		}
	}
}
