package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"atenia/internal/cli/command"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestServeMCP: the command calls tools of the servers in a file, as its flags say, and
// starts without those that do not answer.
func TestServeMCP(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	sdk.AddTool(s, &sdk.Tool{Name: "twice"}, func(_ context.Context, _ *sdk.CallToolRequest, in struct{ N int }) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: strings.Repeat("ab", 100)}}}, nil, nil
	})
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil))
	defer web.Close()
	file := filepath.Join(t.TempDir(), "mcp.json")
	if err := os.WriteFile(file, fmt.Appendf(nil, `{"mcpServers": {"maths": {"url": %q}, "none": {"command": "no-such-program-here"}}}`, web.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var log lockedBuffer
	root := (&app{in: strings.NewReader(""), out: io.Discard, err: &log}).root()
	root.SetArgs([]string{"serve", "--port", "0", "--threads", "1", "--mcp", file, "--mcp-approve", "maths/twice,none", "--mcp-result", "5", "--mcp-calls", "3", "--mcp-time", "30s"})
	done := make(chan error, 1)
	go func() { done <- root.ExecuteContext(ctx) }()
	resp, err := http.Post(log.address(t)+"/v1/responses", "application/json", strings.NewReader(
		`{"input":"Go on.","max_output_tokens":60,"tools":[{"type":"mcp","server_label":"none"},{"type":"mcp","server_label":"maths","require_approval":"never"}],"tool_choice":{"type":"mcp","server_label":"maths","name":"twice"}}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	if text := string(b); resp.StatusCode != http.StatusOK || !strings.Contains(text, `"output":"ababa\n[cut: 5 of 200 bytes]"`) || !strings.Contains(text, "cannot be reached") {
		t.Error(resp.StatusCode, text)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	for _, c := range []struct{ args, want string }{
		{"--mcp none.json", "none.json"},
		{"--mcp-approve always", "needs --mcp"},
		{"--mcp " + file + " --mcp-approve nobody", "SERVER/TOOL of maths, none"},
		{"--mcp " + file + " --mcp-calls -1", "Tools.Calls"},
	} {
		var errw bytes.Buffer
		if code := Main(append([]string{"serve", "--port", "0"}, strings.Fields(c.args)...), strings.NewReader(""), io.Discard, &errw); code == command.OK || !strings.Contains(errw.String(), c.want) {
			t.Errorf("%s: %d, %q, want %q", c.args, code, errw.String(), c.want)
		}
	}
}
