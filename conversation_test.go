package atenia_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"atenia"
	"atenia/internal/golden"
	parser "atenia/internal/text/answer"
)

// A said is a message of a transformers program.
type said struct {
	Role, Content, Name string
	Reasoning           string `json:"reasoning_content"`
	ToolCallID          string `json:"tool_call_id"`
	ToolCalls           []struct {
		ID       string
		Function struct {
			Name      string
			Arguments json.RawMessage
		}
	} `json:"tool_calls"`
}

// A talkCase is a conversation in testdata/conversations.
type talkCase struct {
	Messages  []said
	Tools     []struct{ Function atenia.Tool }
	Documents []atenia.Document
	GoOn      bool `json:"go_on"`
	NoPrompt  bool `json:"no_prompt"`
	Variables map[string]any
}

func (c *talkCase) conversation() atenia.Conversation {
	talk := atenia.Conversation{Continue: c.GoOn, NoPrompt: c.NoPrompt, Variables: c.Variables, Documents: c.Documents}
	for _, s := range c.Messages {
		m := atenia.Message{Role: s.Role, Content: s.Content, Name: s.Name, Reasoning: s.Reasoning, ToolCallID: s.ToolCallID}
		for _, call := range s.ToolCalls {
			m.ToolCalls = append(m.ToolCalls, atenia.ToolCall{ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments})
		}
		talk.Messages = append(talk.Messages, m)
	}
	for _, t := range c.Tools {
		talk.Tools = append(talk.Tools, t.Function)
	}
	return talk
}

// chatTemplates returns the templates of the chat cases by the first case that has them.
func chatTemplates(t *testing.T) map[string]string {
	data, err := os.ReadFile(filepath.Join(golden.Family(t, "chat"), "cases.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct{ Name, Template string }
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	sources, named := map[string]string{}, map[string]bool{}
	for _, c := range cases {
		if !named[c.Template] {
			sources[c.Name], named[c.Template] = c.Template, true
		}
	}
	return sources
}

// TestGoldenConversations renders conversations with tools, calls, results, reasoning
// and documents, and such that go on, as transformers' apply_chat_template does.
func TestGoldenConversations(t *testing.T) {
	data, err := os.ReadFile("testdata/conversations/render.json")
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSpace(data), []byte("\n"))
	var all struct{ Cases map[string]talkCase }
	if err := json.Unmarshal(lines[len(lines)-1], &all); err != nil {
		t.Fatal(err)
	}
	sources := chatTemplates(t)
	n := 0
	for _, line := range lines[:len(lines)-1] {
		var row struct{ Template, Case, Expected, Error string }
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatal(err)
		}
		source, ok := sources[row.Template]
		if !ok {
			continue // other chat cases by ATENIA_GOLDEN
		}
		n++
		c := all.Cases[row.Case]
		talk := c.conversation()
		got, err := talk.RenderTemplate(source, map[string]string{"bos_token": "<s>", "eos_token": "</s>"})
		if got != row.Expected || (err != nil) != (row.Error != "") || err != nil && !strings.Contains(err.Error(), row.Error) {
			t.Errorf("%s, %s: %v, want %q\ngot  %q\nwant %q", row.Template, row.Case, err, row.Error, got, row.Expected)
		}
	}
	if n < 100 && os.Getenv("ATENIA_GOLDEN") == "" {
		t.Errorf("%d rows", n)
	}
}

// TestAnswerRoundTrip renders an assistant's turn with two calls by each template that
// writes calls, and reads it back.
func TestAnswerRoundTrip(t *testing.T) {
	tools := []atenia.Tool{{Name: "get_weather", Parameters: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}}}`)}}
	calls := []atenia.ToolCall{{ID: "abcdef123", Name: "get_weather", Arguments: json.RawMessage(`{"city": "Zürich", "days": 2}`)}, {ID: "abcdef124", Name: "get_weather", Arguments: json.RawMessage(`{"city": "3"}`)}}
	n := 0
	for name, source := range chatTemplates(t) {
		vars := map[string]string{"bos_token": "<s>", "eos_token": "</s>"}
		talk := atenia.Conversation{Messages: []atenia.Message{{Role: "user", Content: "Hi?"}}, Tools: tools}
		prompt, err := talk.RenderTemplate(source, vars)
		if err != nil {
			continue
		}
		for calls := calls; len(calls) > 0; calls = calls[:len(calls)-1] { // some write one call a turn
			talk.Messages = append(talk.Messages[:1], atenia.Message{Role: "assistant", ToolCalls: calls})
			talk.NoPrompt = true
			full, err := talk.RenderTemplate(source, vars)
			turn, ok := strings.CutPrefix(full, prompt)
			if err != nil || !ok || strings.Count(turn, "get_weather") != len(calls) {
				continue
			}
			n++
			o := parser.Options{Prompt: prompt, Tools: []parser.Tool{{Name: "get_weather", Parameters: tools[0].Parameters}}}
			p := parser.New(parser.Detect(source, nil), o)
			var tokens []atenia.Token
			for _, r := range turn {
				for _, e := range p.Write(string(r)) {
					tokens = append(tokens, tokenOf(e))
				}
			}
			for _, e := range p.Close() {
				tokens = append(tokens, tokenOf(e))
			}
			got, err := atenia.Gather(tokens)
			if err != nil || len(got.ToolCalls) != len(calls) {
				t.Errorf("%s: %q: %d calls", name, turn, len(got.ToolCalls))
				break
			}
			for i, call := range got.ToolCalls {
				if call.Name != calls[i].Name || !sameJSON(call.Arguments, calls[i].Arguments) {
					t.Errorf("%s: call %d: %s %s", name, i, call.Name, call.Arguments)
				}
			}
			break
		}
	}
	if n < 5 && os.Getenv("ATENIA_GOLDEN") == "" {
		t.Errorf("%d templates write calls", n)
	}
}

func tokenOf(e parser.Event) atenia.Token {
	t := atenia.Token{Text: e.Text, Reasoning: e.Reasoning}
	if e.Call != nil {
		part := atenia.CallPart(*e.Call)
		t.Call = &part
	}
	return t
}

func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// A gone context is done, and does not say so: what ends with it says what it did.
type gone struct{ context.Context }

func (gone) Done() <-chan struct{} {
	left := make(chan struct{})
	close(left)
	return left
}

// TestLeavingEndsRendering: a conversation is neither rendered nor are its arguments decoded
// to the end for somebody who has left.
func TestLeavingEndsRendering(t *testing.T) {
	m := open(t, nil)
	talk := atenia.Conversation{}
	for range 4000 {
		talk.Messages = append(talk.Messages, atenia.Message{Role: "user", Content: "a"}, atenia.Message{Role: "assistant", Content: "b"})
	}
	call := atenia.Conversation{Messages: []atenia.Message{{Role: "user", Content: "a"}, {Role: "assistant", ToolCalls: []atenia.ToolCall{
		{ID: "c", Name: "f", Arguments: json.RawMessage(`{"a":[` + strings.Repeat("1,", 10000) + "1]}")},
	}}}}
	tool := atenia.Conversation{Messages: call.Messages[:1], Tools: []atenia.Tool{{Name: "f", Parameters: call.Messages[1].ToolCalls[0].Arguments}}}
	for name, c := range map[string]atenia.Conversation{"many messages": talk, "arguments of f: json at byte 8191": call, "parameters: json at byte 8191": tool} {
		if _, err := m.CountTokens(gone{t.Context()}, c); err == nil || !strings.Contains(err.Error(), "given up") || name[0] != 'm' && !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		ctx, leave := context.WithCancelCause(t.Context())
		why := errors.New("gone")
		leave(why)
		if _, err := m.CountTokens(ctx, c); !errors.Is(err, why) {
			t.Errorf("%s: %v, want the cause", name, err)
		}
	}
}
