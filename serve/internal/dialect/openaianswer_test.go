package dialect

import (
	"encoding/json"
	"testing"

	"atenia"
)

// TestCalls: parts of calls become OpenAI's, and a call that is none is not one.
func TestOpenAICalls(t *testing.T) {
	part := func(i int, id, name, args string, broken bool) atenia.Token {
		return atenia.Token{Call: &atenia.CallPart{Index: i, ID: id, Name: name, Arguments: args, Broken: broken}}
	}
	for _, c := range []struct {
		name   string
		tokens []atenia.Token
		deltas string
		whole  string
	}{
		{
			"two calls after a thought",
			[]atenia.Token{
				{Reasoning: "hm"},
				part(0, "call_1", "f", `{"a"`, false), part(0, "", "", `:1}`, false), part(1, "call_2", "g", "{}", false),
				{Finish: "stop", Usage: &atenia.Usage{Prompt: 1, Answer: 2}},
			},
			`{"index":0,"id":"call_1","type":"function","function":{"name":"f","arguments":"{\"a\""}}{"index":0,"function":{"arguments":":1}"}}{"index":1,"id":"call_2","type":"function","function":{"name":"g","arguments":"{}"}}`,
			`{"index":0,"message":{"role":"assistant","content":null,"refusal":null,"reasoning_content":"hm","reasoning":"hm","tool_calls":[` +
				`{"id":"call_1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}},{"id":"call_2","type":"function","function":{"name":"g","arguments":"{}"}}]},"logprobs":null,"finish_reason":"tool_calls"}`,
		},
		{
			"a call that breaks off",
			[]atenia.Token{part(0, "call_1", "f", `{"a"`, false), part(0, "", "", "", true), {Text: `f {"a"`}, {Finish: "stop"}},
			`{"index":0,"id":"call_1","type":"function","function":{"name":"f","arguments":"{\"a\""}}`,
			`{"index":0,"message":{"role":"assistant","content":"f {\"a\"","refusal":null},"logprobs":null,"finish_reason":"stop"}`,
		},
		{
			"a call at the end of the tokens",
			[]atenia.Token{part(0, "call_1", "f", `{}`, false), {Finish: "length"}},
			`{"index":0,"id":"call_1","type":"function","function":{"name":"f","arguments":"{}"}}`,
			`{"index":0,"message":{"role":"assistant","content":null,"refusal":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{}"}}]},"logprobs":null,"finish_reason":"length"}`,
		},
	} {
		a, deltas := &openaiAnswer{speller: &speller{}}, ""
		for _, tok := range c.tokens {
			if d := a.add(tok); d.call != nil {
				b, _ := json.Marshal(d.call)
				deltas += string(b)
			}
		}
		whole, err := json.Marshal(a.choice(0))
		if err != nil {
			t.Fatal(err)
		}
		if deltas != c.deltas || string(whole) != c.whole {
			t.Errorf("%s:\n%s\n%s, want\n%s\n%s", c.name, deltas, whole, c.deltas, c.whole)
		}
	}
}

// TestItems: a response has an item for the thought, the text and each call, in order.
func TestItems(t *testing.T) {
	o := newOutput("1", &respondRequest{})
	var kinds []string
	o.send = func(e event) error {
		kinds = append(kinds, e["type"].(string))
		return nil
	}
	for _, tok := range []atenia.Token{
		{Reasoning: "hm"}, {Text: "So "}, {Text: "be it."}, {Call: &atenia.CallPart{ID: "call_1", Name: "f", Arguments: "{"}}, {Call: &atenia.CallPart{Arguments: "}"}},
		{Finish: "stop", Usage: &atenia.Usage{Prompt: 3, Cached: 1, Answer: 4}},
	} {
		if err := o.take(tok); err != nil {
			t.Fatal(err)
		}
	}
	if err := o.end(); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(o.response.Output)
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"id":"rs_1_0","type":"reasoning","status":"completed","summary":[],"content":[{"type":"reasoning_text","text":"hm","annotations":[]}]},` +
		`{"id":"msg_1_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"So be it.","annotations":[],"logprobs":[]}]},` +
		`{"id":"fc_1_2","type":"function_call","status":"completed","call_id":"call_1","name":"f","arguments":"{}"}]`
	if string(b) != want {
		t.Errorf("%s, want\n%s", b, want)
	}
	if len(kinds) != 21 || kinds[len(kinds)-1] != "response.completed" || o.response.Usage.Total != 7 {
		t.Errorf("%d events: %v", len(kinds), kinds)
	}
}
