package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"atenia/internal/cli/toolbox"
	"atenia/internal/golden/await"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A maths is an MCP server with tools, and what it saw.
type maths struct {
	ran   atomic.Int32
	begun chan struct{} // a call of wait began
	ended chan error    // its context ended
	last  atomic.Value  // arguments of add
}

type sum struct {
	A int `json:"a" jsonschema:"a number"`
	B int `json:"b" jsonschema:"another"`
}

// newBench returns a box with the server, which is called maths.
func newBench(t *testing.T) (*maths, *toolbox.Box) {
	t.Helper()
	b := &maths{begun: make(chan struct{}, 10), ended: make(chan error, 10)}
	s := sdk.NewServer(&sdk.Implementation{Name: "maths", Version: "1"}, nil)
	text := func(s string) *sdk.CallToolResult {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: s}}}
	}
	numbers := json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer","minimum":0,"maximum":99},"b":{"type":"integer","minimum":0,"maximum":99}},"required":["a","b"],"additionalProperties":false}`)
	sdk.AddTool(s, &sdk.Tool{Name: "add", Description: "adds two numbers", InputSchema: numbers}, func(_ context.Context, _ *sdk.CallToolRequest, in sum) (*sdk.CallToolResult, any, error) {
		b.ran.Add(1)
		b.last.Store(in)
		return text(fmt.Sprint(in.A + in.B)), nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "fail", InputSchema: numbers}, func(context.Context, *sdk.CallToolRequest, sum) (*sdk.CallToolResult, any, error) {
		b.ran.Add(1)
		return nil, nil, fmt.Errorf("out of paper")
	})
	sdk.AddTool(s, &sdk.Tool{Name: "wait", InputSchema: numbers}, func(ctx context.Context, _ *sdk.CallToolRequest, _ sum) (*sdk.CallToolResult, any, error) {
		b.begun <- struct{}{}
		<-ctx.Done()
		b.ended <- ctx.Err()
		return nil, nil, ctx.Err()
	})
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil))
	t.Cleanup(web.Close)
	return b, openBox(t, map[string]toolbox.Server{"maths": {URL: web.URL}})
}

// locked is a writer for many goroutines.
type locked struct {
	mu sync.Mutex
	w  *bytes.Buffer
}

func (l *locked) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.String()
}

func openBox(t testing.TB, servers map[string]toolbox.Server) *toolbox.Box {
	t.Helper()
	box, err := toolbox.Open(t.Context(), servers, toolbox.Options{Version: "test", Lazy: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := box.Close(); err != nil {
			t.Log(err) // of servers that were killed
		}
	})
	return box
}

// ofType returns the items of a response that have a type.
func ofType(t *testing.T, response map[string]any, kind string) (out []map[string]any) {
	t.Helper()
	for _, item := range response["output"].([]any) {
		if o := item.(map[string]any); o["type"] == kind {
			out = append(out, o)
		}
	}
	return out
}

func respond(t *testing.T, url, body string) map[string]any {
	t.Helper()
	status, text := post(t, url+"/v1/responses", body)
	if status != 200 {
		t.Fatalf("%s: %d %s", body, status, text)
	}
	return object(t, text)
}

// ask is a request that makes the model call a tool.
func ask(label, tool, more string) string {
	return fmt.Sprintf(`{"input":"Add two numbers.","max_output_tokens":120,"tool_choice":{"type":"mcp","server_label":%q,"name":%q},"tools":[{"type":"mcp","server_label":%q,%s}]`, label, tool, label, more)
}

const freely = `"require_approval":"never"`

// TestServerTools: the server calls the tool that the model chose with the model's
// arguments, the answer goes on, and a stream says the same as the whole; the call is in
// /why, in the metrics and in the log, without what was said.
func TestServerTools(t *testing.T) {
	b, box := newBench(t)
	log := &locked{w: &bytes.Buffer{}}
	_, web := newServer(t, Config{Tools: Tools{Servers: box}, Logger: slog.New(slog.NewTextHandler(log, nil))})
	for range 6 {
		before := b.ran.Load()
		body := ask("maths", "add", freely) + fmt.Sprintf(`,"seed":%d,"temperature":%.2f`, rand.IntN(1e6), 1.5*rand.Float64())
		whole := respond(t, web.URL, body+"}")
		lists, calls := ofType(t, whole, "mcp_list_tools"), ofType(t, whole, "mcp_call")
		if len(lists) != 1 || len(lists[0]["tools"].([]any)) != 3 || len(calls) == 0 || len(ofType(t, whole, "mcp_approval_request")) != 0 {
			t.Fatalf("%s: %v", body, whole["output"])
		}
		var in sum
		if err := json.Unmarshal([]byte(calls[0]["arguments"].(string)), &in); err != nil {
			t.Fatal(err)
		}
		if calls[0]["output"] != fmt.Sprint(in.A+in.B) || calls[0]["status"] != "completed" || calls[0]["error"] != nil || calls[0]["server_label"] != "maths" {
			t.Errorf("%s: %v", body, calls[0])
		}
		if ran := b.ran.Load() - before; int(ran) != len(calls) {
			t.Errorf("%d calls ran, %d are told of", ran, len(calls))
		}
		out := whole["output"].([]any)
		if last := out[len(out)-1].(map[string]any); last["type"] != "message" {
			t.Errorf("the answer ends with %v", last)
		}
		_, text := post(t, web.URL+"/v1/responses", body+`,"stream":true}`)
		checkStream(t, whole, events(t, text))
	}
	resp, err := http.Post(web.URL+"/v1/responses", "application/json", strings.NewReader(ask("maths", "fail", freely)+"}"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var failed map[string]any
	if err := json.NewDecoder(resp.Body).Decode(&failed); err != nil {
		t.Fatal(err)
	}
	call := ofType(t, failed, "mcp_call")[0]
	if call["status"] != "failed" || at(t, call, "error", "type") != "mcp_tool_execution_error" || !strings.Contains(fmt.Sprint(call["error"]), "out of paper") {
		t.Errorf("%v", call)
	}
	_, why := get(t, web.URL+"/why/"+resp.Header.Get("X-Request-Id"))
	tools := at(t, object(t, why), "tools").([]any)
	if len(tools) < 2 || at(t, tools, 0, "action") != "list" || at(t, tools, 1, "action") != "call" || at(t, tools, 1, "tool") != "fail" || at(t, tools, 1, "result") != "error" || at(t, tools, 1, "rule") != "client" {
		t.Errorf("why says %s", why)
	}
	_, metrics := get(t, web.URL+"/metrics")
	if !strings.Contains(metrics, `atenia_tool_decisions_total{action="call",result="error",server="maths"} 1`) {
		t.Error("the failed call is not counted")
	}
	if s := log.String(); !strings.Contains(s, "tool=fail") || strings.Contains(s, "out of paper") {
		t.Errorf("the log says\n%s", s)
	}
}

// checkStream: the events of a stream make the output of the whole response.
func checkStream(t *testing.T, whole map[string]any, list []string) {
	t.Helper()
	var order []string
	arguments := map[string]string{}
	done := map[int]map[string]any{}
	for i, e := range list {
		o := object(t, e)
		if o["sequence_number"] != float64(i) {
			t.Errorf("event %d has the number %v", i, o["sequence_number"])
		}
		kind := o["type"].(string)
		switch kind {
		case "response.mcp_call_arguments.delta":
			arguments[o["item_id"].(string)] += o["delta"].(string)
		case "response.mcp_call_arguments.done":
			if got := arguments[o["item_id"].(string)]; got != o["arguments"] {
				t.Errorf("the pieces of the arguments are %q, want %q", got, o["arguments"])
			}
		case "response.output_item.done":
			done[int(o["output_index"].(float64))] = o["item"].(map[string]any)
		}
		if strings.Contains(kind, "mcp") && (len(order) == 0 || order[len(order)-1] != kind) {
			order = append(order, kind)
		}
		if i == len(list)-1 {
			final := o["response"].(map[string]any)
			if kind != "response."+final["status"].(string) || final["status"] != whole["status"] {
				t.Errorf("the stream ends with %s, %v", kind, final["status"])
			}
			for j, item := range final["output"].([]any) {
				if fmt.Sprint(done[j]) != fmt.Sprint(item) {
					t.Errorf("item %d is %v, its event said %v", j, item, done[j])
				}
			}
			if got, want := plain(final["output"].([]any)), plain(whole["output"].([]any)); !slices.Equal(got, want) {
				t.Errorf("the stream says\n%v\nthe whole\n%v", got, want)
			}
		}
	}
	want := []string{
		"response.mcp_list_tools.in_progress", "response.mcp_list_tools.completed", "response.mcp_call.in_progress", "response.mcp_call_arguments.delta",
		"response.mcp_call_arguments.done", "response.mcp_call.completed",
	}
	if len(order) < len(want) || !slices.Equal(order[:len(want)], want) {
		t.Errorf("events are %v, want %v", order, want)
	}
}

// plain is what items say, without the ids of their request.
func plain(items []any) (out []string) {
	for _, item := range items {
		o := item.(map[string]any)
		out = append(out, fmt.Sprint(o["type"], o["status"], o["name"], o["arguments"], o["output"], o["content"], o["error"]))
	}
	return out
}

// again returns the input of a request that goes on from a response.
func again(t *testing.T, response map[string]any, more ...any) string {
	t.Helper()
	input := append([]any{map[string]any{"role": "user", "content": "Add two numbers."}}, response["output"].([]any)...)
	b, err := json.Marshal(append(input, more...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestApproval: a call waits for the client unless the request and the operator let it
// run, runs once if it is approved of, and not at all if it is not.
func TestApproval(t *testing.T) {
	b, box := newBench(t)
	offer := `"tools":[{"type":"mcp","server_label":"maths"%s}],"max_output_tokens":40`
	_, web := newServer(t, Config{Tools: Tools{Servers: box}})
	first := respond(t, web.URL, ask("maths", "add", `"server_description":"sums"`)+"}")
	asks := ofType(t, first, "mcp_approval_request")
	if len(asks) != 1 || b.ran.Load() != 0 || first["status"] != "completed" || asks[0]["name"] != "add" || len(ofType(t, first, "mcp_call")) != 0 {
		t.Fatalf("%d calls ran: %v", b.ran.Load(), first["output"])
	}
	id := asks[0]["id"]
	answer := map[string]any{"type": "mcp_approval_response", "approval_request_id": id, "approve": true}
	second := respond(t, web.URL, `{"input":`+again(t, first, answer)+`,`+fmt.Sprintf(offer, "")+`,"tool_choice":"none"}`)
	calls := ofType(t, second, "mcp_call")
	if len(calls) != 1 || b.ran.Load() != 1 || calls[0]["approval_request_id"] != id || calls[0]["arguments"] != asks[0]["arguments"] || len(ofType(t, second, "mcp_list_tools")) != 0 {
		t.Fatalf("%d calls ran: %v", b.ran.Load(), second["output"])
	}
	var in sum
	if err := json.Unmarshal([]byte(asks[0]["arguments"].(string)), &in); err != nil || b.last.Load() != in || calls[0]["output"] != fmt.Sprint(in.A+in.B) {
		t.Errorf("%v was asked for, %v ran: %v", in, b.last.Load(), calls[0])
	}
	if ofType(t, second, "message") == nil {
		t.Errorf("no answer after the call: %v", second["output"])
	}
	// A further turn sends all of it back: nothing runs again.
	all := append([]any{answer}, second["output"].([]any)...)
	respond(t, web.URL, `{"input":`+again(t, first, append(all, map[string]any{"role": "user", "content": "Thanks."})...)+`,`+fmt.Sprintf(offer, "")+`,"tool_choice":"none"}`)
	if b.ran.Load() != 1 {
		t.Errorf("%d calls ran, want 1", b.ran.Load())
	}
	answer["approve"], answer["reason"] = false, "too dangerous"
	denied := respond(t, web.URL, `{"input":`+again(t, first, answer)+`,`+fmt.Sprintf(offer, "")+`,"tool_choice":"none"}`)
	if b.ran.Load() != 1 || len(ofType(t, denied, "mcp_call")) != 0 || len(ofType(t, denied, "message")) == 0 {
		t.Errorf("%d calls ran: %v", b.ran.Load(), denied["output"])
	}
	answer["approve"] = true
	// What was shown may run once, and nothing else: not other arguments, another tool, the
	// question of another process.
	forged := func(server *httptest.Server, key, value string) string {
		item := maps.Clone(asks[0])
		if key != "" {
			item[key] = value
		}
		_, text := post(t, server.URL+"/v1/responses", `{"input":`+again(t, map[string]any{"output": []any{item}}, answer)+`,`+fmt.Sprintf(offer, "")+`}`)
		return text
	}
	_, other := newServer(t, Config{Tools: Tools{Servers: box}})
	for i, got := range []string{forged(web, "arguments", `{"a":1,"b":3}`), forged(web, "name", "fail"), forged(other, "", "")} {
		if !strings.Contains(got, "did not show") || b.ran.Load() != 1 {
			t.Errorf("forged question %d: %d calls ran: %s", i, b.ran.Load(), got)
		}
	}
	if got := forged(web, "", ""); !strings.Contains(got, "ran already") || b.ran.Load() != 1 {
		t.Errorf("approved of twice: %d calls ran: %s", b.ran.Load(), got)
	}
	// An approval of what the request does not offer.
	for body, want := range map[string]string{
		`{"input":` + again(t, first, answer) + `}`:                                                                                       "do not have",
		`{"input":` + again(t, first, answer) + `,` + fmt.Sprintf(offer, `,"allowed_tools":["fail"]`) + `}`:                               "do not have",
		`{"input":[{"type":"mcp_approval_response","approval_request_id":"x","approve":true}],` + fmt.Sprintf(offer, "") + `}`:            "not in the input",
		`{"input":"a","tools":[{"type":"mcp","server_label":"maths","server_url":"http://169.254.169.254/"}]}`:                            "no addresses of its clients",
		`{"input":"a","tools":[{"type":"mcp","server_label":"maths","headers":{"A":"b"}}]}`:                                               "headers",
		`{"input":"a","tools":[{"type":"mcp","server_label":"other"}]}`:                                                                   "want one of",
		`{"input":"a","tools":[{"type":"mcp","server_label":"maths"},{"type":"mcp","server_label":"maths"}]}`:                             "twice",
		`{"input":"a","tools":[{"type":"mcp","server_label":"maths","require_approval":"sometimes"}]}`:                                    "want always, never",
		`{"input":"a","tools":[{"type":"mcp","server_label":"maths","allowed_tools":{"read_only":true}}]}`:                                "read_only",
		`{"input":"a","max_tool_calls":0,"tools":[{"type":"mcp","server_label":"maths"}]}`:                                                "max_tool_calls",
		`{"input":"a","tools":[{"type":"mcp","server_label":"maths"}],"tool_choice":{"type":"mcp","server_label":"maths","name":"none"}}`: "do not have",
	} {
		if status, text := post(t, web.URL+"/v1/responses", body); status != 400 || !strings.Contains(text, want) {
			t.Errorf("%.200s: %d %s, want %s", body, status, text, want)
		}
	}
	if status, text := post(t, web.URL+"/v1/chat/completions", `{`+hello+`,"tools":[{"type":"mcp","server_label":"maths"}]}`); status != 400 || !strings.Contains(text, "POST /v1/responses") {
		t.Error(status, text)
	}
	if b.ran.Load() != 1 {
		t.Errorf("%d calls ran, want 1", b.ran.Load())
	}
	_, none := newServer(t, Config{})
	if status, text := post(t, none.URL+"/v1/responses", ask("maths", "add", freely)+"}"); status != 400 || !strings.Contains(text, "no MCP servers") {
		t.Error(status, text)
	}
}

// TestApprove: what the operator says goes before what the request says.
func TestApprove(t *testing.T) {
	b, box := newBench(t)
	for _, c := range []struct {
		approve []string
		more    string
		runs    bool
	}{
		{nil, `"require_approval":"always"`, false},
		{nil, freely, true},
		{nil, `"require_approval":{"never":{"tool_names":["add"]}}`, true},
		{nil, `"require_approval":{"never":{"tool_names":["fail"]}}`, false},
		{nil, `"require_approval":{"always":{"tool_names":["add"]}}`, false},
		{[]string{"request"}, `"require_approval":null`, false},
		{[]string{"always"}, freely, false},
		{[]string{"never"}, `"headers":null`, true},
		{[]string{"never"}, `"require_approval":"always"`, false},
		{[]string{"maths/fail"}, freely, false},
		{[]string{"maths/fail", "maths/add"}, freely, true},
		{[]string{"maths"}, freely, true},
		{[]string{"maths"}, `"allowed_tools":["add"]`, false},
	} {
		_, web := newServer(t, Config{Tools: Tools{Servers: box, Approve: c.approve}})
		before := b.ran.Load()
		out := respond(t, web.URL, ask("maths", "add", c.more)+"}")
		if ran := b.ran.Load() > before; ran != c.runs || ran == (len(ofType(t, out, "mcp_approval_request")) > 0) {
			t.Errorf("%q, %s: ran %v, want %v: %v", c.approve, c.more, ran, c.runs, out["output"])
		}
	}
	for _, bad := range [][]string{{"always", "never"}, {"sometimes"}, {"other/add"}} {
		if _, err := New(Config{Tools: Tools{Servers: box, Approve: bad}}); err == nil || !strings.Contains(err.Error(), "Tools.Approve") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestToolLimits: calls beyond the limit do not run, a result is cut, and the end of a
// request ends its call.
func TestToolLimits(t *testing.T) {
	b, box := newBench(t)
	_, web := newServer(t, Config{Tools: Tools{Servers: box, Calls: 2, Bytes: 1}})
	var input []any
	for range 4 {
		question := ofType(t, respond(t, web.URL, ask("maths", "add", `"require_approval":"always"`)+"}"), "mcp_approval_request")[0]
		input = append(input, question, map[string]any{"type": "mcp_approval_response", "approval_request_id": question["id"], "approve": true})
	}
	items, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	out := respond(t, web.URL, `{"input":`+string(items)+`,"tools":[{"type":"mcp","server_label":"maths"}],"tool_choice":"none","max_output_tokens":20}`)
	calls := ofType(t, out, "mcp_call")
	if len(calls) != 4 || b.ran.Load() != 2 {
		t.Fatalf("%d calls ran: %v", b.ran.Load(), calls)
	}
	for i, c := range calls {
		var in sum
		if err := json.Unmarshal([]byte(c["arguments"].(string)), &in); err != nil {
			t.Fatal(err)
		}
		whole := fmt.Sprint(in.A + in.B)
		want := whole[:1]
		if len(whole) > 1 {
			want += fmt.Sprintf("\n[cut: 1 of %d bytes]", len(whole))
		}
		if i < 2 && c["output"] != want {
			t.Errorf("the result is %q, want %q", c["output"], want)
		}
		if i >= 2 && (c["status"] != "failed" || !strings.Contains(fmt.Sprint(c["error"]), "no more calls")) {
			t.Errorf("%v", c)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, "POST", web.URL+"/v1/responses", strings.NewReader(ask("maths", "wait", freely)+"}"))
	if err != nil {
		t.Fatal(err)
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		if resp, err := http.DefaultClient.Do(q); err == nil {
			resp.Body.Close()
		}
	}()
	<-b.begun
	cancel()
	<-gone
	await.Value(t, "the end of a call whose request is gone", b.ended)
	if status, text := post(t, web.URL+"/v1/completions", `{"prompt":"Once","max_tokens":1}`); status != 200 {
		t.Error(status, text)
	}
}

// testMisbehaving: whatever an MCP server does, its call fails with an error of its kind that
// the model is told, the answer goes on, other requests are answered meanwhile, and the
// next call of the same server is made.
func testMisbehaving(t *testing.T) {
	t.Parallel()
	box := openBox(t, map[string]toolbox.Server{
		"bad":  {Command: os.Args[0], Env: map[string]string{"ATENIA_SERVE_TEST": "tools"}},
		"none": {Command: "no-such-program-here"},
	})
	_, web := newServer(t, Config{Tools: Tools{Servers: box, Time: time.Hour}})
	_, hasty := newServer(t, Config{Tools: Tools{Servers: box, Time: 200 * time.Millisecond}})
	const late = "gave no result within"
	for tool, want := range map[string]string{
		"fine": "", "huge": "", "no_utf8": "", "batch": "", // they end well: cut, and with what is no UTF-8 replaced
		"slow": late, "deaf": late, "wrong_id": late,
		"gone": "unknown tool", "dies": "cannot be reached, or ended", "no_json": "broke the protocol",
		"endless": "broke the protocol", "no_result": "broke the protocol",
	} {
		url := web.URL
		if want == late { // which the server that waits for an hour would not say
			respond(t, url, ask("bad", "fine", freely)+"}") // so that the hasty one need not start it
			url = hasty.URL
		}
		plain := make(chan int, 1)
		go func() {
			resp, err := http.Post(web.URL+"/v1/completions", "application/json", strings.NewReader(`{"prompt":"Once","max_tokens":4}`))
			if err != nil {
				plain <- 0
				return
			}
			resp.Body.Close()
			plain <- resp.StatusCode
		}()
		out := respond(t, url, ask("bad", tool, freely)+"}")
		calls := ofType(t, out, "mcp_call")
		if len(calls) == 0 {
			t.Fatalf("%s: %v", tool, out["output"])
		}
		if want == "" && calls[0]["status"] != "completed" {
			t.Errorf("%s: %v", tool, calls[0])
		}
		if want != "" && calls[0]["error"] == nil {
			t.Errorf("%s: %v, want %s", tool, calls[0], want)
		} else if want != "" {
			code, _ := at(t, calls[0], "error", "code").(float64)
			message := fmt.Sprint(at(t, calls[0], "error", "message"))
			if calls[0]["status"] != "failed" || !strings.Contains(message, want) || at(t, calls[0], "error", "type") != "mcp_protocol_error" || code == 0 {
				t.Errorf("%s: %v, want %s", tool, calls[0], want)
			}
		}
		if said, _ := calls[0]["output"].(string); tool == "huge" && (len(said) > 4<<10 || !strings.Contains(said, "[cut: ")) || tool == "no_utf8" && !strings.HasPrefix(said, "caf\uFFFD") {
			t.Errorf("%s: %d bytes, %.40q", tool, len(said), said)
		}
		if len(ofType(t, out, "message")) == 0 {
			t.Errorf("%s: no answer after it: %v", tool, out["output"])
		}
		if status := <-plain; status != 200 {
			t.Errorf("%s: another request got %d", tool, status)
		}
		out = respond(t, web.URL, ask("bad", "fine", freely)+"}")
		if calls := ofType(t, out, "mcp_call"); len(calls) == 0 || calls[0]["output"] != "all is well" {
			t.Errorf("after %s: %v", tool, out["output"])
		}
		if tool != "gone" {
			continue
		}
		if status, text := post(t, web.URL+"/v1/responses", ask("bad", "gone", freely)+"}"); status != 400 || !strings.Contains(text, "do not have") {
			t.Errorf("a tool that is gone: %d %s", status, text)
		}
	}
	out := respond(t, web.URL, `{"input":"a","max_output_tokens":4,"tools":[{"type":"mcp","server_label":"none"}]}`)
	lists := ofType(t, out, "mcp_list_tools")
	if len(lists) != 1 || !strings.Contains(fmt.Sprint(lists[0]["error"]), "cannot be reached") || strings.Contains(fmt.Sprint(lists), "no-such-program") || len(ofType(t, out, "message")) != 1 {
		t.Errorf("%v", out["output"])
	}
}

// TestInclude: log-probabilities are those of chat, token by token, and in a stream the
// same; other values are ignored.
func TestInclude(t *testing.T) {
	_, web := newServer(t, Config{})
	body := fmt.Sprintf(`{"input":"Tell me about a dog.","temperature":1,"seed":%d,"max_output_tokens":12,"top_logprobs":3,"include":["message.output_text.logprobs","reasoning.encrypted_content"]`, rand.IntN(1e6))
	whole := respond(t, web.URL, body+"}")
	probs := at(t, whole, "output", 0, "content", 0, "logprobs").([]any)
	said := ""
	for _, p := range probs {
		if len(at(t, p, "top_logprobs").([]any)) != 3 || at(t, p, "logprob").(float64) > 0 {
			t.Errorf("%v", p)
		}
		said += at(t, p, "token").(string)
	}
	if text := at(t, whole, "output", 0, "content", 0, "text").(string); strings.TrimSpace(said) != strings.TrimSpace(text) || text == "" {
		t.Errorf("the tokens are %q, the text is %q", said, text)
	}
	_, text := post(t, web.URL+"/v1/responses", body+`,"stream":true}`)
	var streamed []any
	for _, e := range events(t, text) {
		o := object(t, e)
		switch o["type"] {
		case "response.output_text.delta":
			streamed = append(streamed, o["logprobs"].([]any)...)
		case "response.output_text.done":
			if fmt.Sprint(o["logprobs"]) != fmt.Sprint(probs) {
				t.Errorf("the event says %v", o["logprobs"])
			}
		}
	}
	if fmt.Sprint(streamed) != fmt.Sprint(probs) {
		t.Errorf("the stream has %v, want %v", streamed, probs)
	}
	if out := respond(t, web.URL, `{"input":"a","max_output_tokens":2,"top_logprobs":2}`); strings.Contains(fmt.Sprint(out["output"]), "logprob:") {
		t.Errorf("%v", out["output"])
	}
	if status, text := post(t, web.URL+"/v1/responses", `{"input":"a","include":"logprobs"}`); status != 400 {
		t.Error(status, text)
	}
}
