package dialect

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"atenia"
)

func parseAnthropic(t *testing.T, body string) *anthropicRequest {
	t.Helper()
	in := &anthropicRequest{}
	if err := json.Unmarshal([]byte(body), in); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return in
}

const anthropicHead = `{"model": "m", "max_tokens": 9, `

// TestAnthropicConversation reads every kind of block.
func TestAnthropicConversation(t *testing.T) {
	user := func(s string) atenia.Message { return atenia.Message{Role: "user", Content: s} }
	for _, c := range []struct {
		name, body string
		want       []atenia.Message
		continues  bool
	}{
		{"a string", `"messages": [{"role": "user", "content": "Hi."}]`, []atenia.Message{user("Hi.")}, false},
		{"system as a string", `"system": "Be kind.", "messages": [{"role": "user", "content": "Hi."}]`,
			[]atenia.Message{{Role: "system", Content: "Be kind."}, user("Hi.")}, false},
		{"system as blocks", `"system": [{"type": "text", "text": "Be", "cache_control": {"type": "ephemeral"}}, {"type": "text", "text": "kind."}], "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi."}]}]`,
			[]atenia.Message{{Role: "system", Content: "Be\nkind."}, user("Hi.")}, false},
		{"turns of one role are one", `"messages": [{"role": "user", "content": "a"}, {"role": "user", "content": [{"type": "text", "text": "b"}, {"type": "text", "text": "c"}]}]`,
			[]atenia.Message{user("a\nb\nc")}, false},
		{"prefill", `"messages": [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": [{"type": "text", "text": "Once "}, {"type": "text", "text": "upon"}]}]`,
			[]atenia.Message{user("Hi."), {Role: "assistant", Content: "Once upon"}}, true},
		{"tools", `"messages": [{"role": "user", "content": "Time?"},
			{"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm.", "signature": "s"}, {"type": "redacted_thinking", "data": "x"}, {"type": "text", "text": "Let me see."}, {"type": "tool_use", "id": "t1", "name": "now", "input": {"zone": "UTC"}}, {"type": "tool_use", "id": "t2", "name": "day"}]},
			{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t2", "content": [{"type": "text", "text": "Mon"}, {"type": "text", "text": "day"}]}, {"type": "tool_result", "tool_use_id": "t1", "content": "noon", "is_error": false}, {"type": "text", "text": "And now?"}]}]`,
			[]atenia.Message{user("Time?"),
				{Role: "assistant", Content: "Let me see.", Reasoning: "Hm.", ToolCalls: []atenia.ToolCall{{ID: "t1", Name: "now", Arguments: json.RawMessage(`{"zone": "UTC"}`)}, {ID: "t2", Name: "day"}}},
				{Role: "tool", ToolCallID: "t2", Name: "day", Content: "Mon\nday"}, {Role: "tool", ToolCallID: "t1", Name: "now", Content: "noon"}, user("And now?")}, false},
		{"images", `"messages": [{"role": "user", "content": [{"type": "text", "text": "What"}, {"type": "text", "text": "is"}, {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAEC"}}, {"type": "text", "text": "this?"}]}]`,
			[]atenia.Message{{Role: "user", Parts: []atenia.ContentPart{{Text: "What\nis"}, {Image: []byte{0, 1, 2}}, {Text: "this?"}}}}, false},
		{"documents", `"messages": [{"role": "user", "content": [{"type": "document", "title": "T", "source": {"type": "text", "media_type": "text/plain", "data": "D"}}, {"type": "document", "source": {"type": "content", "content": "E"}}]}]`,
			[]atenia.Message{user("T\n\nD\nE")}, false},
	} {
		got, err := parseAnthropic(t, anthropicHead+c.body+"}").conversation(atenia.Sampling{})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if !reflect.DeepEqual(got.Messages, c.want) || got.Continue != c.continues {
			t.Errorf("%s:\n got %+v %v\nwant %+v %v", c.name, got.Messages, got.Continue, c.want, c.continues)
		}
	}
}

// TestAnthropicOptions reads what is not said in messages.
func TestAnthropicOptions(t *testing.T) {
	const body = anthropicHead + `"messages": [{"role": "user", "content": "Hi."}], "stop_sequences": ["END"], "temperature": 0.5, "top_k": 7,
		"tools": [{"name": "now", "description": "The time.", "input_schema": {"type": "object"}}, {"type": "custom", "name": "day"}], "tool_choice": {"type": "auto"},
		"metadata": {"user_id": "u"}, "thinking": {"type": "enabled", "budget_tokens": 2000}, "output_config": {"effort": "max"}}`
	c, err := parseAnthropic(t, body).conversation(atenia.Sampling{Temperature: 1, TopP: 0.9, TopK: 3, Seed: 4})
	if err != nil {
		t.Fatal(err)
	}
	if want := (atenia.Sampling{Temperature: 0.5, TopP: 0.9, TopK: 7, Seed: 4}); !reflect.DeepEqual(c.Sampling, want) {
		t.Errorf("sampling %+v, want %+v", c.Sampling, want)
	}
	if c.MaxTokens != 9 || !reflect.DeepEqual(c.Stop, []string{"END"}) {
		t.Errorf("options %+v", c.Options)
	}
	if want := []atenia.Tool{{Name: "now", Description: "The time.", Parameters: json.RawMessage(`{"type": "object"}`)}, {Name: "day"}}; !reflect.DeepEqual(c.Tools, want) {
		t.Errorf("tools %+v, want %+v", c.Tools, want)
	}
	if want := map[string]any{"enable_thinking": true, "reasoning_effort": "high"}; !reflect.DeepEqual(c.Variables, want) {
		t.Errorf("variables %v, want %v", c.Variables, want)
	}
}

// TestRefused: what cannot be done is an error that says why, never a guess.
func TestAnthropicRefused(t *testing.T) {
	said := func(blocks string) string { return `"messages": [{"role": "user", "content": ` + blocks + `}]` }
	for _, c := range []struct{ body, want string }{
		{`{}`, "model: field required"},
		{anthropicHead + `"messages": []}`, "at least one message"},
		{`{"model": "m", "max_tokens": 0, ` + said(`"a"`) + `}`, "max_tokens: 0 is less than 1"},
		{anthropicHead + `"messages": [{"role": "critic", "content": "a"}]}`, `"critic" is none of`},
		{anthropicHead + said(`[]`) + `}`, "cannot be empty"},
		{anthropicHead + said(`[{"text": "a"}]`) + `}`, "no type"},
		{anthropicHead + said(`[{"type": "search_result"}]`) + `}`, `"search_result" are not supported`},
		{anthropicHead + said(`[{"type": "image"}]`) + `}`, "image: source"},
		{anthropicHead + said(`[{"type": "image", "source": {"type": "url", "url": "http://x/y.png"}}]`) + `}`, "fetches nothing"},
		{anthropicHead + said(`[{"type": "image", "source": {"type": "base64", "data": "!"}}]`) + `}`, "not base64"},
		{anthropicHead + said(`[{"type": "image", "source": {"type": "base64"}}]`) + `}`, "no data"},
		{anthropicHead + said(`[{"type": "document", "source": {"type": "base64", "media_type": "application/pdf"}}]`) + `}`, "application/pdf"},
		{anthropicHead + said(`[{"type": "tool_result", "tool_use_id": "t9"}]`) + `}`, `"t9"`},
		{anthropicHead + `"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "n", "input": [1]}]}]}`, "messages.1: tool_use: input is not an object"},
		{anthropicHead + `"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "n"}]}]}`, "bring their results"},
		{anthropicHead + `"system": [{"type": "image"}], ` + said(`"a"`) + `}`, "only text"},
		{anthropicHead + `"tools": [{}], ` + said(`"a"`) + `}`, "tools.0.name"},
		{anthropicHead + `"stop_sequences": [""], ` + said(`"a"`) + `}`, "stop_sequences.0"},
		{anthropicHead + `"thinking": {"type": "deep"}, ` + said(`"a"`) + `}`, `thinking.type: "deep"`},
		{anthropicHead + `"tool_choice": {"type": "tool", "name": "x"}, ` + said(`"a"`) + `}`, `tool_choice: there is no tool "x"`},
		{anthropicHead + `"output_config": {"format": {"type": "xml"}}, ` + said(`"a"`) + `}`, `output_config.format.type: "xml"`},
	} {
		_, err := parseAnthropic(t, c.body).conversation(atenia.Sampling{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s:\n got %v\nwant …%s…", c.body, err, c.want)
		}
	}
}

// FuzzAnthropicRequest reads any body: what it becomes is a conversation or an error.
func FuzzAnthropicRequest(f *testing.F) {
	f.Add([]byte(anthropicHead + `"messages": [{"role": "user", "content": "Hi."}]}`))
	f.Add([]byte(anthropicHead + `"system": [{"type": "text", "text": "Be"}], "messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": [{"type": "image", "source": {"type": "base64", "data": "AAEC"}}]}]}]}`))
	f.Add([]byte(anthropicHead + `"messages": [{"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "n", "input": {}}]}], "tools": [{"name": "n"}], "tool_choice": {"type": "any"}, "thinking": {"type": "adaptive"}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		in := &anthropicRequest{}
		if json.Unmarshal(body, in) != nil {
			return
		}
		c, err := in.conversation(atenia.Sampling{})
		if err != nil {
			return
		}
		var chars int
		for _, m := range c.Messages {
			if m.Role == "" || m.Parts != nil && m.Content != "" {
				t.Errorf("message %+v", m)
			}
			chars += len(m.Content) + len(m.Reasoning)
		}
		if chars > 3*len(body)+len(in.Messages) { // nothing is said that the body does not say
			t.Errorf("%d bytes of text from %d bytes", chars, len(body))
		}
	})
}
