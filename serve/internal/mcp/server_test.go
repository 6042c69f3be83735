package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"atenia"
	"atenia/internal/golden/await"
	"atenia/serve/internal/host"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// pool has the embedded model as "story", which the tests share.
var pool = sync.OnceValues(func() (*host.Pool, error) {
	return host.NewPool(host.PoolConfig{Sources: []host.Source{{Name: "story"}}, Idle: -1})
})

// models returns the pool.
func models(t testing.TB) *host.Pool {
	t.Helper()
	p, err := pool()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// story borrows the model until the test ends.
func story(t testing.TB) *host.Lease {
	t.Helper()
	l, err := models(t).Borrow(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Release)
	return l
}

// unused waits until nobody holds the model.
func unused(t *testing.T) {
	t.Helper()
	await.Until(t, "the end of the request", func() bool { return models(t).List()[0].Users == 0 })
}

// testConfig offers the embedded model as "story", and one that panics as "broken".
func testConfig(t *testing.T) Config {
	models := models(t)
	return Config{
		Names:  func() []string { return []string{"story", "cold"} },
		Loaded: func(name string) bool { return name == "story" },
		Host:   host.New(host.Config{}),
		Use: func(ctx context.Context, name string) (*host.Lease, error) {
			switch name {
			case "", "story":
				return models.Borrow(ctx, "")
			case "broken":
				panic("planted")
			}
			return nil, fmt.Errorf("no model %q; there are story", name)
		},
		State: t.TempDir(), Version: "test",
	}
}

// connect returns a session with a server in memory.
func connect(t *testing.T, c Config, o *sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	return join(t, New(c), o)
}

func join(t *testing.T, srv *Server, o *sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	a, b := sdk.NewInMemoryTransports()
	if _, err := srv.sdk.Connect(t.Context(), a, nil); err != nil {
		t.Fatal(err)
	}
	s, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, o).Connect(t.Context(), b, &sdk.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// invoke calls a tool and returns its text, and whether that is an error.
func invoke(t *testing.T, s *sdk.ClientSession, tool, args string) (text string, failed bool) {
	t.Helper()
	res, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: json.RawMessage(args)})
	if err != nil {
		t.Fatalf("%s %s: %v", tool, args, err)
	}
	return res.Content[0].(*sdk.TextContent).Text, res.IsError
}

// TestTools: what tools say is what the library says, and their results are as their
// schemas promise.
func TestTools(t *testing.T) {
	c := testConfig(t)
	s := connect(t, c, nil)
	m := story(t)
	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string]string{
		"generate": `{"prompt":"Once upon a time","max_tokens":8,"temperature":0}`,
		"embed":    `{"texts":["a dog","a cat"]}`,
		"explain":  `{}`,
		"plan":     `{"mode":"decode","model":"story"}`,
	}
	for _, tool := range list.Tools {
		res, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: tool.Name, Arguments: json.RawMessage(calls[tool.Name])})
		if err != nil || res.IsError {
			t.Fatalf("%s: %v %v", tool.Name, err, res.Content)
		}
		b, _ := json.Marshal(tool.OutputSchema)
		var schema jsonschema.Schema
		if err := json.Unmarshal(b, &schema); err != nil {
			t.Fatal(err)
		}
		r, err := schema.Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Validate(res.StructuredContent); err != nil {
			t.Errorf("%s: %v", tool.Name, err)
		}
		delete(calls, tool.Name)
	}
	if len(calls) > 0 {
		t.Errorf("tools that are not listed: %v", calls)
	}
	var want strings.Builder
	o := atenia.Options{MaxTokens: 8, Sampling: m.Sampling()}
	o.Sampling.Temperature = 0
	for tok, err := range m.Generate(t.Context(), atenia.Prompt{Text: "Once upon a time", Options: o}) {
		if err != nil {
			t.Fatal(err)
		}
		want.WriteString(tok.Text)
	}
	if got, _ := invoke(t, s, "generate", `{"prompt":"Once upon a time","max_tokens":8,"temperature":0}`); got != want.String() || got == "" {
		t.Errorf("generate: %q, want %q", got, want.String())
	}
	if got, failed := invoke(t, s, "generate", `{"prompt":"Hello","chat":true,"max_tokens":4,"seed":3}`); failed || got == "" {
		t.Errorf("chat: %q", got)
	}
}

// TestToolErrors: whatever is wrong is told as the result of the tool.
func TestToolErrors(t *testing.T) {
	s := connect(t, testConfig(t), nil)
	for _, c := range [][3]string{
		{"generate", `{}`, "prompt: want a text"},
		{"generate", `{"prompt":1}`, "cannot unmarshal number"},
		{"generate", `{"prompt":"a","maxtokens":3}`, `unknown field "maxtokens"`},
		{"generate", `{"prompt":"a","max_tokens":0}`, "want at least 1"},
		{"generate", `{"prompt":"a","temperature":-1}`, "want 0 to 10"},
		{"generate", `{"prompt":"a","system":"b"}`, "needs chat"},
		{"generate", `{"prompt":"a","model":"none"}`, `no model "none"`},
		{"generate", `{"prompt":"` + strings.Repeat("long ", 9000) + `"}`, "context"},
		{"generate", `{"prompt":"a","model":"broken"}`, "internal error"},
		{"embed", `{"texts":[]}`, "want 1 to 256"},
		{"embed", `{"texts":["a"],"pooling":"none"}`, "none"},
		{"explain", `{"model":"broken"}`, "internal error"},
		{"plan", `{"mode":"sideways"}`, "sideways"},
	} {
		got, failed := invoke(t, s, c[0], c[1])
		if !failed || !strings.Contains(got, c[2]) || strings.Contains(got, "planted") {
			t.Errorf("%s %.60s: error %t %q, want %q", c[0], c[1], failed, got, c[2])
		}
	}
	if got, failed := invoke(t, s, "generate", `{"prompt":"Once","max_tokens":2}`); failed {
		t.Errorf("after errors: %s", got)
	}
}

// TestProgress: a client that asks is told each token, in order.
func TestProgress(t *testing.T) {
	var mu sync.Mutex
	var text strings.Builder
	var at []float64
	s := connect(t, testConfig(t), &sdk.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
		mu.Lock()
		defer mu.Unlock()
		text.WriteString(r.Params.Message)
		at = append(at, r.Params.Progress)
	}})
	p := &sdk.CallToolParams{Name: "generate", Arguments: json.RawMessage(`{"prompt":"Once upon a time","max_tokens":6}`)}
	p.SetProgressToken("p")
	res, err := s.CallTool(t.Context(), p)
	if err != nil || res.IsError {
		t.Fatal(err, res)
	}
	await.Until(t, "six tokens", func() bool { // the client's own goroutine calls the handler
		mu.Lock()
		defer mu.Unlock()
		return len(at) >= 6
	})
	mu.Lock()
	defer mu.Unlock()
	if !slices.Equal(at, []float64{1, 2, 3, 4, 5, 6}) || !strings.HasPrefix(res.Content[0].(*sdk.TextContent).Text, text.String()) || text.Len() == 0 {
		t.Errorf("told %v %q, result %q", at, text.String(), res.Content[0].(*sdk.TextContent).Text)
	}
}

// TestCancel: canceling a call ends the generation.
func TestCancel(t *testing.T) {
	c := testConfig(t)
	ctx, cancel := context.WithCancel(t.Context())
	s := connect(t, c, &sdk.ClientOptions{ProgressNotificationHandler: func(context.Context, *sdk.ProgressNotificationClientRequest) { cancel() }})
	p := &sdk.CallToolParams{Name: "generate", Arguments: json.RawMessage(`{"prompt":"Once upon a time","max_tokens":100000}`)}
	p.SetProgressToken("p")
	if _, err := s.CallTool(ctx, p); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	unused(t)
}

// TestResources: lists load nothing, and what is not there is an error.
func TestResources(t *testing.T) {
	s := connect(t, testConfig(t), nil)
	for uri, want := range map[string][]string{
		"atenia://models":          {`"name": "story"`, `"context"`, `"name": "cold"`, `"loaded": false`},
		"atenia://models/story":    {`"family"`, `"plan": "sha256:`},
		"atenia://decisions":       {`"because"`, `"memory"`},
		"atenia://decisions/story": {`"because"`},
	} {
		res, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
		if err != nil {
			t.Errorf("%s: %v", uri, err)
			continue
		}
		text := res.Contents[0].Text
		if !json.Valid([]byte(text)) {
			t.Errorf("%s is no JSON", uri)
		}
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%s has no %s:\n%s", uri, w, text)
			}
		}
	}
	for _, uri := range []string{"atenia://models/none", "atenia://models/../decisions", "atenia://what", "file:///etc/passwd"} {
		if _, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri}); err == nil {
			t.Errorf("%s was read", uri)
		}
	}
}

// TestHTTP: two sessions over streamable HTTP at once, and a drain ends their streams.
func TestHTTP(t *testing.T) {
	srv := New(testConfig(t))
	web := httptest.NewServer(srv.Handler())
	defer web.Close()
	var sessions []*sdk.ClientSession
	for range 2 {
		s, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: web.URL, MaxRetries: -1}, nil)
		if err != nil {
			t.Fatal(err)
		}
		sessions = append(sessions, s)
		if got, failed := invoke(t, s, "generate", `{"prompt":"Once upon a time","max_tokens":4}`); failed || got == "" {
			t.Errorf("got %q", got)
		}
	}
	for _, s := range sessions {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	srv.Drain()
}

// TestStdio: the protocol alone is written, and the end of input is the end.
func TestStdio(t *testing.T) {
	in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n" +
		`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" +
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"generate","arguments":{"prompt":"Once upon a time","max_tokens":40}}}` + "\n" +
		"{bad\n\n[]5\n{\"id\":1}\n[]\n[1]\n" + `[{"jsonrpc":"2.0","id":9,"method":"ping"},{"jsonrpc":"2.0","id":9,"method":"ping"}]` + "\n" + strings.Repeat("x", maxBody+5) + "\n" +
		`{"jsonrpc":"2.0","id":3,"method":"tools/list"}`) // without an end of line
	r, w := io.Pipe()
	out := make(chan string, 1)
	go func() {
		b, _ := io.ReadAll(r)
		out <- string(b)
	}()
	if err := New(testConfig(t)).Stdio(t.Context(), io.NopCloser(in), w); err != nil {
		t.Error(err)
	}
	w.Close()
	lines := <-out
	for _, want := range []string{`"serverInfo"`, `"finish":"length"`, `"inputSchema"`, `-32700,"message":"a line that is no JSON"`, "a message may have 4194304 bytes", "a batch without messages", "two requests of a batch have the id 9"} {
		if !strings.Contains(lines, want) {
			t.Errorf("no %s in %q", want, lines)
		}
	}
	for line := range strings.Lines(lines) {
		var m struct{ JSONRPC string }
		if err := json.Unmarshal([]byte(line), &m); err != nil || m.JSONRPC != "2.0" {
			t.Errorf("%q is no message: %v", line, err)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	r, w = io.Pipe() // whose end a process cannot close: its standard input
	because := errors.New("terminated")
	cancel(because)
	if err := New(testConfig(t)).Stdio(ctx, io.NopCloser(r), w); !errors.Is(err, because) {
		t.Errorf("got %v", err)
	}
}

func FuzzLine(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n{}\n[]"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var answers strings.Builder
		got, err := io.ReadAll(newLines(io.NopCloser(bytes.NewReader(b)), &answers))
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(got) {
			if problem := check(bytes.TrimSpace(line)); problem != nil {
				t.Errorf("%q was passed on", line)
			}
		}
		for line := range strings.Lines(answers.String()) {
			if !json.Valid([]byte(line)) {
				t.Errorf("answered %q", line)
			}
		}
	})
}

func FuzzArguments(f *testing.F) {
	f.Add([]byte(`{"prompt":"Once","max_tokens":3,"temperature":0.5,"stop":["x"],"chat":true,"system":"s"}`))
	f.Add([]byte(`{"seed":18446744073709551615}{}`))
	m := story(f).Model
	f.Fuzz(func(t *testing.T, b []byte) {
		var in generateInput
		if readArguments(b, &in) != nil {
			return
		}
		if o, err := in.options(m); err == nil && (o.MaxTokens < 1 || in.Prompt == "") {
			t.Errorf("%q gives %+v", b, o)
		}
	})
}
