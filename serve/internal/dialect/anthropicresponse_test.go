package dialect

import (
	"encoding/json"
	"reflect"
	"testing"

	"atenia"
)

// saidTokens is an answer with thought, text and two calls, in pieces.
func saidTokens() []atenia.Token {
	return []atenia.Token{
		{Reasoning: "Let me "}, {}, {Reasoning: "see."}, {Text: "I "}, {Text: "call."},
		{Call: &atenia.CallPart{Index: 0, ID: "c0", Name: "now"}}, {Call: &atenia.CallPart{Index: 0, Arguments: `{"zone":`}}, {Call: &atenia.CallPart{Index: 0, Arguments: `"UTC"}`}},
		{Call: &atenia.CallPart{Index: 1, ID: "c1", Name: "day"}},
		{Finish: "stop", Usage: &atenia.Usage{Prompt: 20, Cached: 12, Answer: 9}},
	}
}

// play makes an answer of tokens, and lists its events.
func play(t *testing.T, in *anthropicRequest, tokens []atenia.Token, stream bool) (anthropicReply, []any) {
	t.Helper()
	a := newAnthropicAnswer("msg_1", "m", in)
	var events []any
	if stream {
		a.emit = func(event string, v any) error {
			b, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			var o map[string]any
			if err := json.Unmarshal(b, &o); err != nil || o["type"] != event {
				t.Fatalf("event %s with %s", event, b)
			}
			events = append(events, o)
			return nil
		}
	}
	if err := a.start(20); err != nil {
		t.Fatal(err)
	}
	for i := range tokens {
		err := a.add(&tokens[i])
		if err == nil && tokens[i].Finish != "" {
			err = a.finish(&tokens[i])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return a.anthropicReply, events
}

// TestAnthropicAnswer compares a whole answer with its published shape, and with what a client
// puts together of the events of the streamed one.
func TestAnthropicAnswer(t *testing.T) {
	in := parseAnthropic(t, anthropicHead+`"messages": [], "thinking": {"type": "enabled"}}`)
	whole, _ := play(t, in, saidTokens(), false)
	got, err := json.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[` +
		`{"type":"thinking","thinking":"Let me see.","signature":""},{"type":"text","text":"I call."},` +
		`{"type":"tool_use","id":"c0","name":"now","input":{"zone":"UTC"}},{"type":"tool_use","id":"c1","name":"day","input":{}}],` +
		`"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":8,"cache_creation_input_tokens":0,"cache_read_input_tokens":12,"output_tokens":9}}`
	if string(got) != want {
		t.Errorf("whole answer\n%s, want\n%s", got, want)
	}
	_, events := play(t, in, saidTokens(), true)
	if again := assemble(t, events); !reflect.DeepEqual(again, plainOf(t, whole)) {
		t.Errorf("the events say\n%v, the whole answer\n%v", again, plainOf(t, whole))
	}
}

// plainOf is a value as JSON decodes it.
func plainOf(t *testing.T, v any) (out map[string]any) {
	t.Helper()
	b, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// assemble does what Anthropic's clients do with events.
func assemble(t *testing.T, events []any) map[string]any {
	t.Helper()
	var m map[string]any
	var blocks []any
	arguments := ""
	open := false
	for n, e := range events {
		o := e.(map[string]any)
		if (o["type"] == "message_start") != (n == 0) || (o["type"] == "message_stop") != (n == len(events)-1) {
			t.Fatalf("event %d is %v", n, o)
		}
		if i, ok := o["index"].(float64); ok && int(i) != len(blocks)-1 && !(o["type"] == "content_block_start" && int(i) == len(blocks)) {
			t.Fatalf("event %d has index %v of %d blocks", n, i, len(blocks))
		}
		switch o["type"] {
		case "message_start":
			m = o["message"].(map[string]any)
			if c := m["content"].([]any); len(c) != 0 || m["stop_reason"] != nil {
				t.Fatalf("begins with %v", m)
			}
		case "content_block_start":
			if open {
				t.Fatal("two blocks are open")
			}
			open, arguments = true, ""
			blocks = append(blocks, o["content_block"])
		case "content_block_delta":
			b, d := blocks[len(blocks)-1].(map[string]any), o["delta"].(map[string]any)
			switch d["type"] {
			case "text_delta":
				b["text"] = b["text"].(string) + d["text"].(string)
			case "thinking_delta":
				b["thinking"] = b["thinking"].(string) + d["thinking"].(string)
			case "input_json_delta":
				arguments += d["partial_json"].(string)
			default:
				t.Fatalf("delta %v", d)
			}
		case "content_block_stop":
			open = false
			b := blocks[len(blocks)-1].(map[string]any)
			if arguments != "" {
				b["input"] = plainOf(t, json.RawMessage(arguments))
			}
		case "message_delta":
			for k, v := range o["delta"].(map[string]any) {
				m[k] = v
			}
			m["usage"] = o["usage"]
		}
	}
	if open {
		t.Fatal("a block stays open")
	}
	m["content"] = blocks
	return m
}

// TestMuted: thoughts that nobody asked for are left out.
func TestMuted(t *testing.T) {
	for _, thinking := range []string{"", `, "thinking": {"type": "disabled"}`, `, "thinking": {"type": "adaptive", "display": "omitted"}`} {
		got, _ := play(t, parseAnthropic(t, anthropicHead+`"messages": []`+thinking+"}"), saidTokens(), false)
		if got.Content[0].Type != "text" {
			t.Errorf("%s: begins with %s", thinking, got.Content[0].Type)
		}
	}
}

// TestReasons: why an answer ended.
func TestReasons(t *testing.T) {
	in := parseAnthropic(t, anthropicHead+`"messages": []}`)
	for _, c := range []struct {
		last atenia.Token
		want string
	}{
		{atenia.Token{Finish: "stop"}, "end_turn"},
		{atenia.Token{Finish: "stop", Stop: "END"}, "stop_sequence END"},
		{atenia.Token{Finish: "length", Usage: &atenia.Usage{Answer: 9}}, "max_tokens"},
		{atenia.Token{Finish: "length", Usage: &atenia.Usage{Answer: 3}}, "model_context_window_exceeded"},
	} {
		got, _ := play(t, in, []atenia.Token{{Text: "a"}, c.last}, false)
		reason := *got.StopReason
		if got.StopSequence != nil {
			reason += " " + *got.StopSequence
		}
		if reason != c.want {
			t.Errorf("%+v ends with %s, want %s", c.last, reason, c.want)
		}
	}
}

// TestBrokenCall: a call that the model does not end is text in the end.
func TestBrokenCall(t *testing.T) {
	in := parseAnthropic(t, anthropicHead+`"messages": []}`)
	tokens := []atenia.Token{{Text: "I call "}, {Call: &atenia.CallPart{ID: "c0", Name: "now"}}, {Call: &atenia.CallPart{Arguments: `{"zo`}}, {Call: &atenia.CallPart{Broken: true}}, {Text: `<call>{"zo`}, {Finish: "stop"}}
	whole, _ := play(t, in, tokens, false)
	if len(whole.Content) != 2 || *whole.Content[0].Text != "I call " || *whole.Content[1].Text != `<call>{"zo` || *whole.StopReason != "end_turn" {
		t.Errorf("as a whole: %+v", whole.Content)
	}
	streamed, _ := play(t, in, tokens, true)
	if n := len(streamed.Content); n != 3 || *streamed.Content[2].Text != `<call>{"zo` || *streamed.StopReason != "end_turn" {
		t.Errorf("streamed: %d blocks, %s", n, *streamed.StopReason)
	}
}
