package toolbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestMain is also the program of a server over stdio, and the client that the
// conformance suite starts.
func TestMain(m *testing.M) {
	switch os.Getenv("ATENIA_TOOLBOX_TEST") {
	case "server":
		if err := testServer().Run(context.Background(), &sdk.StdioTransport{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case "client":
		if err := conform(os.Args[len(os.Args)-1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	default:
		os.Exit(m.Run())
	}
}

type pair struct {
	A int `json:"a"`
	B int `json:"b"`
}

// testServer has a tool that adds, one that fails, and one that says a lot.
func testServer() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	sdk.AddTool(s, &sdk.Tool{Name: "add", Description: "adds"}, func(_ context.Context, _ *sdk.CallToolRequest, in pair) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprint(in.A + in.B)}}}, nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "fail"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return nil, nil, errors.New("out of paper")
	})
	sdk.AddTool(s, &sdk.Tool{Name: "much"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.ImageContent{Data: []byte("x"), MIMEType: "image/png"}, &sdk.TextContent{Text: strings.Repeat("é", mostResult)}}}, nil, nil
	})
	return s
}

// TestBox: tools of a started server and of one over HTTP, with what they answer.
func TestBox(t *testing.T) {
	var key string
	h := sdk.NewStreamableHTTPHandler(func(r *http.Request) *sdk.Server { key = r.Header.Get("Authorization"); return testServer() }, nil)
	web := httptest.NewServer(h)
	defer web.Close()
	file := filepath.Join(t.TempDir(), "mcp.json")
	config := fmt.Sprintf(`{"mcpServers": {"local": {"command": %q, "env": {"ATENIA_TOOLBOX_TEST": "server"}, "type": "stdio"},
		"web": {"url": %q, "headers": {"Authorization": "Bearer k"}}}}`, os.Args[0], web.URL)
	if err := os.WriteFile(file, []byte(config), 0o666); err != nil {
		t.Fatal(err)
	}
	servers, err := ReadConfig(file)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Open(t.Context(), servers, Options{Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	if key != "Bearer k" {
		t.Errorf("the server got key %q", key)
	}
	var names []string
	for _, tool := range b.Tools() {
		names = append(names, tool.Name)
		if !json.Valid(tool.Parameters) {
			t.Errorf("%s: parameters %s", tool.Name, tool.Parameters)
		}
	}
	if got, want := strings.Join(names, " "), "add fail much web__add web__fail web__much"; got != want {
		t.Errorf("tools %s, want %s", got, want)
	}
	if b.Server("add") != "local" || b.Server("web__add") != "web" || b.Server("none") != "" {
		t.Error("tools are of wrong servers")
	}
	for _, name := range []string{"add", "web__add"} {
		if got, err := b.Call(t.Context(), name, json.RawMessage(`{"a":2,"b":3}`)); err != nil || got != "5" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if got, err := b.Call(t.Context(), "fail", nil); err != nil || got != "error: out of paper" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := b.Call(t.Context(), "add", json.RawMessage(`{"a":"x"}`)); err != nil || !strings.HasPrefix(got, "error: ") {
		t.Errorf("%q, %v", got, err)
	}
	got, err := b.Call(t.Context(), "much", nil)
	if err != nil || !strings.HasPrefix(got, "[image, image/png, 1 bytes]\né") || !strings.Contains(got, "[cut: ") || len(got) > mostResult+100 {
		t.Errorf("%.60q, %d bytes, %v", got, len(got), err)
	}
	if _, err := b.Call(t.Context(), "none", nil); err == nil {
		t.Error("a tool that is not there was called")
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Call(canceled, "add", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// TestOpenFails: a server that is not there, or is none, is an error with its name.
func TestOpenFails(t *testing.T) {
	for _, s := range []Server{{Command: "no-such-program-here"}, {Command: "true"}, {URL: "http://127.0.0.1:1/mcp"}} {
		if _, err := Open(t.Context(), map[string]Server{"x": s}, Options{Version: "test"}); err == nil || !strings.Contains(err.Error(), `MCP server "x"`) {
			t.Errorf("%+v: %v", s, err)
		}
	}
}

func TestConfig(t *testing.T) {
	for text, want := range map[string]string{
		`{`: "unexpected end", `{}`: "1 to 64 servers, got 0", `{"mcpServers": []}`: "cannot unmarshal",
		`{"mcpServers": {"a": {}}}`:                                         `server "a": want either a command or a url`,
		`{"mcpServers": {"a": {"command": "x", "url": "http://x"}}}`:        "either",
		`{"mcpServers": {"a": {"url": "file:///etc/passwd"}}}`:              "want http://",
		`{"mcpServers": {"a": {"url": "http://"}}}`:                         "want http://",
		`{"mcpServers": {"a": {"command": "x"` + strings.Repeat(" ", 1<<20): "more than",
	} {
		_, err := parse([]byte(text))
		if _, ok := errors.AsType[*configError](err); !ok || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %s", text, err, want)
		}
	}
}

func FuzzConfig(f *testing.F) {
	f.Add([]byte(`{"mcpServers": {"a": {"command": "x", "args": ["y"], "env": {"K": "v"}}, "b": {"url": "https://x/mcp", "headers": {"A": "b"}}}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		servers, err := parse(b)
		if _, typed := errors.AsType[*configError](err); err != nil && !typed {
			t.Errorf("error %T", err)
		}
		for name, s := range servers {
			if err == nil && s.check() != "" {
				t.Errorf("%q: %+v", name, s)
			}
		}
	})
}
