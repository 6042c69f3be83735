package atenia_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"atenia"
)

// read returns what Chat yields for an answer that the embedded model is made to give.
func read(t *testing.T, c atenia.Conversation, prompt, text string) []atenia.Token {
	t.Helper()
	m := open(t, nil)
	ids, err := m.Tokenize(text)
	if err != nil {
		t.Fatal(err)
	}
	return m.ReadAnswer(c, prompt, ids)
}

// TestReadAnswer sees calls in the tokens of an answer when there are tools, and text
// when there are none or the answer is raw.
func TestReadAnswer(t *testing.T) {
	const call = `<tool_call>{"name": "now", "arguments": {"zone": "UTC"}}</tool_call>`
	tools := []atenia.Tool{{Name: "now"}}
	for _, c := range []struct {
		name, text, want string // want: text, calls, stop
		talk             atenia.Conversation
	}{
		{name: "call", text: "Yes." + call, talk: atenia.Conversation{Tools: tools}, want: `Yes.|now {"zone": "UTC"}|`},
		{name: "special tokens", text: "Yes.<|im_end|>" + call, talk: atenia.Conversation{Tools: tools}, want: `Yes.|now {"zone": "UTC"}|`},
		{name: "two calls", text: call + call, talk: atenia.Conversation{Tools: tools}, want: `|now {"zone": "UTC"}now {"zone": "UTC"}|`},
		{name: "one of two calls", text: "Yes." + call + "\n" + call + "no", talk: atenia.Conversation{Tools: tools, OneCall: true}, want: `Yes.|now {"zone": "UTC"}|`},
		{name: "one call after none", text: `<tool_call>{"name": 1}</tool_call>` + call + call, talk: atenia.Conversation{Tools: tools, OneCall: true}, want: `<tool_call>{"name": 1}</tool_call>|now {"zone": "UTC"}|`},
		{name: "no tools", text: call, want: call + "||"},
		{name: "raw", text: call, talk: atenia.Conversation{Tools: tools, Raw: true}, want: call + "||"},
		{name: "broken", text: `<tool_call>{"name": "now", "arguments": {"zone": U`, talk: atenia.Conversation{Tools: tools}, want: `<tool_call>{"name": "now", "arguments": {"zone": U||`},
		{name: "stop in text", text: "Once upon a time. " + call, talk: atenia.Conversation{Tools: tools, Options: atenia.Options{Stop: []string{"upon"}}}, want: "Once ||upon"},
		{name: "no stop in a call", text: "Once." + call, talk: atenia.Conversation{Tools: tools, Options: atenia.Options{Stop: []string{"UTC", ".<tool", "e.\n"}}}, want: `Once.|now {"zone": "UTC"}|`},
	} {
		tokens := read(t, c.talk, "", c.text)
		a, err := atenia.Gather(tokens)
		if err != nil {
			t.Fatal(err)
		}
		got := a.Text + "|"
		for _, call := range a.ToolCalls {
			if len(call.ID) != 9 {
				t.Errorf("%s: id %q", c.name, call.ID)
			}
			got += call.Name + " " + string(call.Arguments)
		}
		if got += "|" + a.Stop; got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		said := ""
		for _, tok := range tokens[:len(tokens)-1] {
			if said += tok.Text; tok.Call != nil && tok.Call.Name != "" && said != a.Text && c.name != "broken" {
				t.Errorf("%s: a call after %q of %q", c.name, said, a.Text)
			}
			if tok.Call != nil && c.want == `Yes.|now {"zone": "UTC"}|` && tok.Call.Arguments == `{"zone": "UTC"}` {
				t.Errorf("%s: the arguments came in one piece", c.name)
			}
		}
	}
}

// TestReply answers as Chat does, and counts.
func TestReply(t *testing.T) {
	m := open(t, nil)
	talk := atenia.Conversation{Messages: []atenia.Message{{Role: "user", Content: "Hello!"}}, Options: atenia.Options{Sampling: atenia.Sampling{LogProbs: 2}}}
	want, err := collect(m.Chat(t.Context(), talk))
	if err != nil {
		t.Fatal(err)
	}
	a, err := m.Reply(t.Context(), talk)
	if err != nil {
		t.Fatal(err)
	}
	n, _ := m.CountTokens(t.Context(), talk)
	if a.Text != want.text || a.Finish != want.finish || a.Usage.Prompt != n || len(a.Tokens) != len(want.ids) || len(a.Tokens[0].Top) != 2 {
		t.Errorf("%+v, want %+v and a prompt of %d", a, want, n)
	}
	// Tools change neither the text nor the number of tokens when none is called.
	talk.Tools = []atenia.Tool{{Name: "now", Parameters: json.RawMessage(`{"type":"object"}`)}}
	if b, err := m.Reply(t.Context(), talk); err != nil || b.Text != a.Text || len(b.ToolCalls) != 0 {
		t.Errorf("with tools: %+v, %v", b, err)
	}
	_, err = m.Reply(t.Context(), atenia.Conversation{Messages: []atenia.Message{{Role: "user", Content: strings.Repeat("word ", 5000)}}})
	if _, ok := errors.AsType[*atenia.ContextError](err); !ok {
		t.Errorf("a long question: %v", err)
	}
}
