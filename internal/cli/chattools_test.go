package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"atenia"
	"atenia/internal/cli/toolbox"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// calls is a model that answers with the calls of a script, and then with the last
// message that it was given.
func calls(script ...atenia.CallPart) func(context.Context, atenia.Conversation) iter.Seq2[atenia.Token, error] {
	round := 0
	return func(_ context.Context, c atenia.Conversation) iter.Seq2[atenia.Token, error] {
		return func(yield func(atenia.Token, error) bool) {
			if round < len(script) && len(c.Tools) > 0 {
				p := script[round]
				first := p
				first.Arguments = ""
				p.Name, p.ID = "", ""
				yield(atenia.Token{Call: &first}, nil)
				yield(atenia.Token{Call: &p}, nil)
				round++
			} else {
				last := c.Messages[len(c.Messages)-1]
				yield(atenia.Token{Text: last.Role + " " + last.ToolCallID + " " + last.Content}, nil)
			}
			yield(atenia.Token{Finish: "stop"}, nil)
		}
	}
}

// testTalk is a talk with a server that has the tool twice, which counts its calls.
func testTalk(t *testing.T, yes bool) (k *talk, out, errw *bytes.Buffer, ran *atomic.Int32) {
	t.Helper()
	ran = &atomic.Int32{}
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	sdk.AddTool(s, &sdk.Tool{Name: "twice"}, func(_ context.Context, _ *sdk.CallToolRequest, in struct{ N int }) (*sdk.CallToolResult, any, error) {
		ran.Add(1)
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprint(2 * in.N)}}}, nil, nil
	})
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil))
	t.Cleanup(web.Close)
	box, err := toolbox.Open(t.Context(), map[string]toolbox.Server{"maths": {URL: web.URL}}, toolbox.Options{Version: "test", Err: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { box.Close() })
	m, err := atenia.Open(t.Context(), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	out, errw = &bytes.Buffer{}, &bytes.Buffer{}
	a := &app{in: strings.NewReader(""), out: out, err: errw}
	k = &talk{a: a, m: m, lines: newLineReader(a.in, out), tools: &tools{box: box, list: box.Tools(), yes: yes, always: map[string]bool{}, errw: errw}}
	return k, out, errw, ran
}

// TestChatTools: a call runs if it may, its result reaches the model, and what was not
// allowed did not run.
func TestChatTools(t *testing.T) {
	call := atenia.CallPart{ID: "c1", Name: "twice", Arguments: `{"N":21}`}
	k, out, errw, ran := testTalk(t, true)
	k.chat = calls(call)
	if err := k.answer(t.Context(), "question"); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); got != "tool c1 42\n" || ran.Load() != 1 {
		t.Errorf("answered %q after %d calls", got, ran.Load())
	}
	if got := errw.String(); !strings.Contains(got, `tool twice of maths: {"N":21}`) {
		t.Errorf("shown %q", got)
	}
	var roles []string
	for _, m := range k.messages {
		roles = append(roles, m.Role)
	}
	if got := strings.Join(roles, " "); got != "user assistant tool assistant" || len(k.messages[1].ToolCalls) != 1 || k.messages[2].Name != "twice" {
		t.Errorf("conversation %s: %+v", got, k.messages)
	}

	k, out, errw, ran = testTalk(t, false) // a pipe
	k.chat = calls(call, atenia.CallPart{ID: "c2", Name: "none"}, atenia.CallPart{ID: "c3", Name: "twice", Arguments: `{"N":`})
	if err := k.answer(t.Context(), "question"); err != nil {
		t.Fatal(err)
	}
	if ran.Load() != 0 || !strings.Contains(errw.String(), "--yes") || !strings.Contains(out.String(), "c3 error: the arguments are no JSON") {
		t.Errorf("ran %d, shown %q, answered %q", ran.Load(), errw, out)
	}
	for i, want := range []string{"did not allow", `no tool "none"`} {
		if got := k.messages[2+2*i].Content; !strings.Contains(got, want) {
			t.Errorf("result %d: %q, want %q", i, got, want)
		}
	}

	k, _, errw, ran = testTalk(t, true)
	script := make([]atenia.CallPart, 100)
	for i := range script {
		script[i] = call
	}
	k.chat = calls(script...)
	if err := k.answer(t.Context(), "question"); err != nil {
		t.Fatal(err)
	}
	if ran.Load() != mostRounds || !strings.Contains(errw.String(), "no answer after 8 rounds") {
		t.Errorf("ran %d, shown %q", ran.Load(), errw)
	}
}

// TestApproval: what is asked, and what answers mean.
func TestApproval(t *testing.T) {
	k, _, errw, ran := testTalk(t, false)
	asked := 0
	ask := func(answers ...string) func(string) (string, error) {
		return func(string) (string, error) {
			asked++
			if len(answers) == 0 {
				return "", io.EOF
			}
			a := answers[0]
			answers = answers[1:]
			return a, nil
		}
	}
	call := atenia.ToolCall{Name: "twice", Arguments: json.RawMessage(`{"N":1}`)}
	for _, c := range []struct {
		answers      []string
		asked, calls int32
	}{{[]string{"n"}, 1, 0}, {[]string{""}, 2, 0}, {nil, 3, 0}, {[]string{"what", "Yes"}, 5, 1}, {[]string{"n"}, 6, 1}, {[]string{"always"}, 7, 2}, {nil, 7, 3}} {
		k.tools.use(t.Context(), call, ask(c.answers...))
		if int32(asked) != c.asked || ran.Load() != c.calls {
			t.Errorf("%q: asked %d, ran %d; want %d, %d", c.answers, asked, ran.Load(), c.asked, c.calls)
		}
	}
	errw.Reset()
	call.Arguments = json.RawMessage("{\"N\":1,\"x\":\"\u202e\u009b\"}")
	k.tools.use(t.Context(), call, ask("n"))
	if !strings.Contains(errw.String(), "<U+202E><U+009B>") {
		t.Errorf("shown %q", errw)
	}
}
