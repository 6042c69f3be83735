package toolbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// rough is an MCP server over HTTP whose calls are answered by call.
func rough(t *testing.T, call func(w http.ResponseWriter, id json.RawMessage)) *httptest.Server {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			ID     json.RawMessage
			Method string
		}
		b, _ := io.ReadAll(r.Body)
		if json.Unmarshal(b, &q) != nil || q.ID == nil {
			w.WriteHeader(map[bool]int{true: http.StatusAccepted, false: http.StatusMethodNotAllowed}[r.Method == "POST"])
			return
		}
		w.Header().Set("Content-Type", "application/json")
		switch q.Method {
		case "initialize":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"rough","version":"1"}}}`, q.ID)
		case "tools/list":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"it","inputSchema":{"type":"object"}},{"name":"%s","inputSchema":{"type":"object"}},{"name":"wide","description":"%s","inputSchema":{"type":"object"}}]}}`,
				q.ID, strings.Repeat("n", mostName+1), strings.Repeat("d", mostAbout))
		case "tools/call":
			call(w, q.ID)
		default:
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"method not found"}}`, q.ID)
		}
	}))
	t.Cleanup(web.Close)
	return web
}

// TestRoughServers: what servers over HTTP answer that is no result is an Error, and the
// next call is made nevertheless.
func TestRoughServers(t *testing.T) {
	const fine = `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"well"}]}}`
	for what, c := range map[string]struct {
		answer func(w http.ResponseWriter, id json.RawMessage)
		code   int64
		late   bool
	}{
		"an error": {func(w http.ResponseWriter, id json.RawMessage) {
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32050,"message":"no"}}`, id)
		}, -32050, false},
		"no JSON":    {func(w http.ResponseWriter, _ json.RawMessage) { io.WriteString(w, `{"jsonrpc":`) }, 0, false},
		"another id": {func(w http.ResponseWriter, _ json.RawMessage) { fmt.Fprintf(w, fine, "4711") }, 0, true},
		"a status":   {func(w http.ResponseWriter, _ json.RawMessage) { w.WriteHeader(http.StatusBadGateway) }, 0, false},
		"a broken body": {func(w http.ResponseWriter, _ json.RawMessage) {
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, "{")
		}, 0, false},
		"too much": {func(w http.ResponseWriter, id json.RawMessage) {
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"`, id)
			for range mostMessage>>20 + 1 {
				io.WriteString(w, strings.Repeat("x", 1<<20))
			}
			io.WriteString(w, `"}]}}`)
		}, 0, false},
	} {
		var first atomic.Bool
		first.Store(true)
		web := rough(t, func(w http.ResponseWriter, id json.RawMessage) {
			if first.Swap(false) {
				c.answer(w, id)
				return
			}
			fmt.Fprintf(w, fine, id)
		})
		b, err := Open(t.Context(), map[string]Server{"rough": {URL: web.URL}}, Options{Version: "test", Lazy: true})
		if err != nil {
			t.Fatal(err)
		}
		tools, err := b.ToolsOf(t.Context(), "rough")
		if err != nil || len(tools) != 1 || tools[0].Name != "it" {
			t.Errorf("%s: tools %v, %v", what, tools, err)
		}
		ctx, cancel := t.Context(), context.CancelFunc(func() {})
		if c.late {
			ctx, cancel = context.WithTimeout(ctx, 200*time.Millisecond)
		}
		_, _, err = b.CallTool(ctx, "rough", "it", nil)
		cancel()
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Server != "rough" || e.Code != c.code || errors.Is(err, context.DeadlineExceeded) != c.late {
			t.Errorf("%s: %v", what, err)
		}
		if text, failed, err := b.CallTool(t.Context(), "rough", "it", nil); err != nil || failed || text != "well" {
			t.Errorf("after %s: %q, %v, %v", what, text, failed, err)
		}
		if _, _, err := b.CallTool(t.Context(), "rough", "other", nil); err == nil || !strings.Contains(err.Error(), "no such tool") {
			t.Errorf("a tool that is not there: %v", err)
		}
		if err := b.Close(); err != nil {
			t.Log(err)
		}
		if _, _, err := b.CallTool(t.Context(), "rough", "it", nil); !errors.Is(err, errClosed) {
			t.Errorf("after the end: %v", err)
		}
	}
}

// TestChangedTools: the tools of a server are those that it has now, whenever it changes
// them; a session that it forgot is made again, and the call is made once.
func TestChangedTools(t *testing.T) {
	s := testServer()
	var current atomic.Pointer[sdk.StreamableHTTPHandler]
	begin := func() {
		current.Store(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil))
	}
	begin()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { current.Load().ServeHTTP(w, r) }))
	defer web.Close()
	b, err := Open(t.Context(), map[string]Server{"x": {URL: web.URL}}, Options{Version: "test", Lazy: true})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	there := map[string]bool{"add": true, "fail": true, "much": true}
	for range 20 {
		name := fmt.Sprint("t", rand.IntN(4))
		if there[name] = !there[name]; there[name] {
			sdk.AddTool(s, &sdk.Tool{Name: name}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
				return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: name}}}, nil, nil
			})
		} else {
			s.RemoveTools(name)
		}
		if rand.IntN(4) == 0 {
			begin() // it forgets its sessions
		}
		end := time.Now().Add(20 * time.Second)
		for { // the server tells of a change when it comes to it
			tools, err := b.ToolsOf(t.Context(), "x")
			got := map[string]bool{}
			for _, t := range tools {
				got[t.Name] = true
			}
			same := err == nil
			for n, has := range there {
				same = same && got[n] == has
			}
			if same {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("the tools are %v, want %v: %v", got, there, err)
			}
			time.Sleep(5 * time.Millisecond)
		}
		text, _, err := b.CallTool(t.Context(), "x", name, nil)
		if there[name] && text != name || !there[name] && err == nil {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}

// TestLateCall: a call that takes too long does not disturb another one of the same server, whose
// session stays.
func TestLateCall(t *testing.T) {
	begun, release := make(chan struct{}), make(chan struct{})
	s := testServer()
	sdk.AddTool(s, &sdk.Tool{Name: "hold"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		close(begun)
		<-release
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "held"}}}, nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "never"}, func(ctx context.Context, _ *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		<-ctx.Done()
		return nil, nil, ctx.Err()
	})
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil))
	defer web.Close()
	b, err := Open(t.Context(), map[string]Server{"x": {URL: web.URL}}, Options{Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	held := make(chan string, 1)
	go func() {
		text, _, err := b.CallTool(t.Context(), "x", "hold", nil)
		held <- fmt.Sprint(text, err)
	}()
	<-begun
	session := func() *sdk.ClientSession {
		l := b.links[0]
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.session
	}
	before := session()
	tooLate := errors.New("too late")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, tooLate)
	defer cancel()
	if _, _, err := b.CallTool(ctx, "x", "never", nil); !errors.Is(err, tooLate) {
		t.Errorf("a call that never ends: %v", err)
	}
	if text, _, err := b.CallTool(t.Context(), "x", "add", json.RawMessage(`{"a":1,"b":2}`)); err != nil || text != "3" {
		t.Errorf("after it: %q, %v", text, err)
	}
	if session() != before {
		t.Error("the session is another one")
	}
	close(release)
	if got := <-held; got != "held<nil>" {
		t.Errorf("the other call got %q", got)
	}
}
