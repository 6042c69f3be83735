package toolbox

import (
	"bytes"
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

	wait "atenia/internal/golden/await"

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

// overdue is a context whose deadline has passed once done is closed.
type overdue struct {
	context.Context
	done <-chan struct{}
}

func (o overdue) Done() <-chan struct{} { return o.done }

func (o overdue) Err() error {
	select {
	case <-o.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
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
		answered := make(chan struct{})
		web := rough(t, func(w http.ResponseWriter, id json.RawMessage) {
			if first.Swap(false) {
				c.answer(w, id)
				close(answered)
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
		ctx := t.Context()
		if c.late {
			ctx = overdue{ctx, answered}
		}
		_, _, err = b.CallTool(ctx, "rough", "it", nil)
		e, ok := errors.AsType[*toolError](err)
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
		// The server tells of a change when it comes to it.
		wait.Until(t, fmt.Sprintf("the tools %v", there), func() bool {
			tools, err := b.ToolsOf(t.Context(), "x")
			got := map[string]bool{}
			for _, t := range tools {
				got[t.Name] = true
			}
			same := err == nil
			for n, has := range there {
				same = same && got[n] == has
			}
			return same
		})
		text, _, err := b.CallTool(t.Context(), "x", name, nil)
		if there[name] && text != name || !there[name] && err == nil {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}

// held is an MCP server over HTTP with a tool that waits for release, and one that waits
// until its call is cancelled, or the test is over: the end of a session waits for its calls.
func held(t *testing.T, began chan<- string, release, over <-chan struct{}) http.Handler {
	s := testServer()
	for name, until := range map[string]<-chan struct{}{"hold": release, "never": over} {
		sdk.AddTool(s, &sdk.Tool{Name: name}, func(ctx context.Context, _ *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
			began <- name
			select {
			case <-until:
			case <-ctx.Done():
			}
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprint("held", ctx.Err())}}}, nil, nil
		})
	}
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil)
}

// TestLateCall: a call that takes too long does not disturb another one of the same server, whose
// session stays.
func TestLateCall(t *testing.T) {
	began, release, over := make(chan string, 2), make(chan struct{}), make(chan struct{})
	web := httptest.NewServer(held(t, began, release, over))
	defer web.Close()
	defer close(over)
	b, err := Open(t.Context(), map[string]Server{"x": {URL: web.URL}}, Options{Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	call := func(ctx context.Context, tool string) <-chan error {
		out := make(chan error, 1)
		go func() {
			text, _, err := b.CallTool(ctx, "x", tool, nil)
			if err == nil && text != "held<nil>" {
				err = errors.New(text)
			}
			out <- err
		}()
		if got := wait.Value(t, "the call of "+tool, began); got != tool {
			t.Fatalf("the server runs %q, want %q", got, tool)
		}
		return out
	}
	hold := call(t.Context(), "hold")
	session := func() *sdk.ClientSession {
		l := b.links[0]
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.session
	}
	before := session()
	tooLate := errors.New("too late")
	ctx, cancel := context.WithCancelCause(t.Context())
	never := call(ctx, "never")
	cancel(tooLate)
	if err := wait.Value(t, "the end of a late call", never); !errors.Is(err, tooLate) {
		t.Errorf("a call that never ends: %v", err)
	}
	if text, _, err := b.CallTool(t.Context(), "x", "add", json.RawMessage(`{"a":1,"b":2}`)); err != nil || text != "3" {
		t.Errorf("after it: %q, %v", text, err)
	}
	if session() != before {
		t.Error("the session is another one")
	}
	close(release)
	if err := wait.Value(t, "the result of the other call", hold); err != nil {
		t.Errorf("the other call got %v", err)
	}
}

// TestCloseAfterCancel: a server hears that a call is cancelled before its session ends, however
// soon after it the box is closed.
func TestCloseAfterCancel(t *testing.T) {
	for range 20 {
		began, over := make(chan string, 1), make(chan struct{})
		h := held(t, began, nil, over)
		var told, first atomic.Bool
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			told.CompareAndSwap(false, bytes.Contains(body, []byte("notifications/cancelled")))
			if r.Method == http.MethodDelete {
				if first.Store(told.Load()); !told.Load() {
					close(over) // or the session would not end
				}
			}
			h.ServeHTTP(w, r)
		}))
		b, err := Open(t.Context(), map[string]Server{"x": {URL: web.URL}}, Options{Version: "test"})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-began
			cancel()
		}()
		if _, _, err := b.CallTool(ctx, "x", "never", nil); !errors.Is(err, context.Canceled) {
			t.Errorf("a cancelled call: %v", err)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		web.Close()
		if !first.Load() {
			t.Fatal("the session ended, and the server did not hear that its call was cancelled")
		}
	}
}
