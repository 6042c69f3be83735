package dialect

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"atenia"
	"atenia/serve/internal/host"
)

// echo is a server whose tools say what they are called with.
type echo struct{ calls []string }

func (e *echo) Servers() []string { return []string{"one", "two"} }

func (e *echo) ToolsOf(context.Context, string) ([]atenia.Tool, error) {
	return []atenia.Tool{{Name: "f"}, {Name: "g"}, {Name: "own"}}, nil
}

func (e *echo) CallTool(_ context.Context, server, tool string, args json.RawMessage) (string, bool, error) {
	e.calls = append(e.calls, fmt.Sprintf("%s.%s%s", server, tool, args))
	return "did " + tool, tool == "g", nil
}

// A say is what the model says of one answer: calls as NAME{ARGUMENTS}, "!" before one that is
// none, and the reason of the end.
func say(o *output, said string) error {
	toks := []atenia.Token{}
	words := strings.Fields(said)
	for i, w := range words[:len(words)-1] {
		w, broken := strings.CutPrefix(w, "!")
		name, args, _ := strings.Cut(w, "{")
		id := fmt.Sprintf("call_%d_%d", len(o.response.Output), i)
		toks = append(toks, atenia.Token{Call: &atenia.CallPart{Index: i, ID: id, Name: name}}, atenia.Token{Call: &atenia.CallPart{Index: i, Arguments: "{" + args}})
		if broken {
			toks = append(toks, atenia.Token{Call: &atenia.CallPart{Index: i, Broken: true}}, atenia.Token{Text: w})
		}
	}
	toks = append(toks, atenia.Token{Finish: words[len(words)-1], Usage: &atenia.Usage{Prompt: 10, Answer: 5}})
	o.answer = openaiAnswer{speller: &speller{}}
	for _, t := range toks {
		if err := o.take(t); err != nil {
			return err
		}
	}
	return nil
}

// TestHosted: of what a model says in turns, calls that are whole and need no approval
// run in order, the others do not, and the answer goes on exactly if nothing is left to the
// client.
func TestHosted(t *testing.T) {
	pool, err := host.NewPool(host.PoolConfig{Sources: []host.Source{{Name: "a"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	l, err := pool.Borrow(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()
	body := `{"input":"a","max_output_tokens":%d,"tools":[{"type":"function","name":"own"},{"type":"mcp","server_label":"one","require_approval":"never"},{"type":"mcp","server_label":"two","allowed_tools":["f"]}]}`
	for _, c := range []struct {
		turns  []string
		most   int
		calls  string // that ran
		goesOn string // after each turn
		items  string // types with status
		tools  int    // offered at last
	}{
		{[]string{`f{"x":1} stop`, `stop`}, 50, `one.f{"x":1}`, "yes no", "mcp_call/completed", 5},
		{[]string{`g{} stop`, `f{} stop`, `stop`}, 50, `one.g{} one.f{}`, "yes yes no", "mcp_call/failed mcp_call/completed", 5},
		{[]string{`f{} own{} stop`}, 50, `one.f{}`, "no", "mcp_call/completed function_call/completed", 5},
		{[]string{`one__own{} stop`, `stop`}, 50, `one.own{}`, "yes no", "mcp_call/completed", 5},
		{[]string{`two__f{"y":2} stop`}, 50, ``, "no", "mcp_approval_request/", 5},
		{[]string{`f{} two__f{} stop`}, 50, `one.f{}`, "no", "mcp_call/completed mcp_approval_request/", 5},
		{[]string{`!f{} stop`}, 50, ``, "no", "mcp_call/incomplete message/completed", 5},
		{[]string{`!two__f{} stop`}, 50, ``, "no", "message/completed", 5},
		{[]string{`f{} !g{} stop`, `stop`}, 50, `one.f{}`, "yes no", "mcp_call/completed mcp_call/incomplete message/completed", 5},
		{[]string{`f{} g{"z": length`}, 50, ``, "no", "mcp_call/incomplete mcp_call/incomplete", 5},
		{[]string{`two__f{ length`}, 50, ``, "no", "", 5},
		{[]string{`f{[1] stop`, `stop`}, 50, ``, "yes no", "mcp_call/failed", 5},
		{[]string{`f{} stop`}, 5, `one.f{}`, "no", "mcp_call/completed", 5},
		{[]string{`f{} f{} f{} stop`, `f{} stop`, `f{} stop`}, 50, `one.f{} one.f{}`, "yes yes no", "mcp_call/completed mcp_call/completed mcp_call/failed mcp_call/failed mcp_call/failed", 1},
	} {
		e := &echo{}
		h := host.New(host.Config{Pool: pool, Tools: host.Tools{Servers: e, Calls: 2}})
		r := h.Begin(t.Context(), "", "")
		var in respondRequest
		if err := json.Unmarshal(fmt.Appendf(nil, body, c.most), &in); err != nil {
			t.Fatal(err)
		}
		o := newOutput("1", &in)
		x, err := newHosted(r, o, &in)
		if err != nil {
			t.Fatal(err)
		}
		o.hosted, x.l = x, l
		var conv atenia.Conversation
		if err := in.offer(&conv, x); err != nil {
			t.Fatal(err)
		}
		begun := len(o.response.Output)
		var goesOn []string
		for _, s := range c.turns {
			if err := say(o, s); err != nil {
				t.Fatal(err)
			}
			more, err := x.next(&conv, in.most())
			if err != nil {
				t.Fatal(err)
			}
			goesOn = append(goesOn, map[bool]string{true: "yes", false: "no"}[more])
		}
		if err := o.end(); err != nil {
			t.Fatal(err)
		}
		r.End("test", nil)
		var items []string
		for _, item := range o.response.Output[begun:] {
			var i struct{ Type, Status string }
			b, _ := json.Marshal(item)
			_ = json.Unmarshal(b, &i)
			items = append(items, i.Type+"/"+i.Status)
		}
		if got := strings.Join(e.calls, " "); got != c.calls {
			t.Errorf("%q: %s ran, want %s", c.turns, got, c.calls)
		}
		if got := strings.Join(goesOn, " "); got != c.goesOn {
			t.Errorf("%q: it goes on %s, want %s", c.turns, got, c.goesOn)
		}
		if got := strings.Join(items, " "); got != c.items || len(conv.Tools) != c.tools {
			t.Errorf("%q: items %s and %d tools, want %s and %d", c.turns, got, len(conv.Tools), c.items, c.tools)
		}
	}
}

// TestHistory: items become the turns that they were, with the results of calls after the
// turn that made them.
func TestHistory(t *testing.T) {
	const call = `{"type":"mcp_call","id":"m%d","server_label":"one","name":"f","arguments":"{}","output":"r%d","status":"completed"}`
	for items, want := range map[string]string{
		`{"role":"user","content":"q"},` + fmt.Sprintf(call, 1, 1) + `,` + fmt.Sprintf(call, 2, 2) + `,{"type":"message","role":"assistant","content":"a"}`:                                                                                                            "user:q assistant:+2 tool:r1 tool:r2 assistant:a",
		`{"role":"user","content":"q"},{"type":"message","role":"assistant","content":"a"},` + fmt.Sprintf(call, 1, 1) + `,{"role":"user","content":"b"}`:                                                                                                              "user:q assistant:a+1 tool:r1 user:b",
		`{"role":"user","content":"q"},` + fmt.Sprintf(call, 1, 1) + `,{"type":"function_call","call_id":"c","name":"own","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"o"}`:                                                                "user:q assistant:+2 tool:r1 tool:o",
		`{"role":"user","content":"q"},{"type":"mcp_list_tools","id":"l","server_label":"one","tools":[]},{"type":"mcp_call","id":"m","server_label":"one","name":"f","arguments":"{","status":"incomplete","output":null,"error":null},{"role":"user","content":"b"}`: "user:q user:b",
		`{"role":"user","content":"q"},{"type":"mcp_call","id":"m","server_label":"one","name":"f","arguments":"{}","status":"failed","output":null,"error":{"code":1}}`:                                                                                               `user:q assistant:+1 tool:error: {"code":1}`,
		`{"role":"user","content":"q"},{"type":"mcp_approval_request","id":"p","server_label":"one","name":"f","arguments":"{}"},{"type":"mcp_approval_response","approval_request_id":"p","approve":false,"reason":"no"}`:                                             "user:q assistant:+1 tool:error: the user did not allow this call: no",
		`{"role":"user","content":"q"},{"type":"mcp_approval_request","id":"p","server_label":"one","name":"f","arguments":"{}"},{"role":"user","content":"b"}`:                                                                                                        "user:q user:b",
	} {
		var in respondRequest
		if err := json.Unmarshal([]byte(`{"input":[`+items+`]}`), &in); err != nil {
			t.Fatal(err)
		}
		list, err := in.messages(nil)
		if err != nil {
			t.Errorf("%s: %v", items, err)
			continue
		}
		var got []string
		for _, m := range list {
			s := m.Role + ":" + m.Content
			if n := len(m.ToolCalls); n > 0 {
				s += fmt.Sprintf("+%d", n)
			}
			got = append(got, s)
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s\nis %s, want %s", items, s, want)
		}
	}
}
