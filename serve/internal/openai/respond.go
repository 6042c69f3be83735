package openai

// POST /v1/responses: the items that go in. What comes out is in items.go.

import (
	"encoding/json"
	"fmt"
	"net/http"

	"atenia"
	"atenia/serve/internal/host"
)

// A respondRequest is the body. The server keeps no responses: clients send the whole
// conversation.
type respondRequest struct {
	ask
	Input        input      `json:"input"`
	Instructions string     `json:"instructions"`
	MaxOutput    *int       `json:"max_output_tokens"`
	Tools        []flatTool `json:"tools"`
	ToolChoice   choice     `json:"tool_choice"`
	Text         struct {
		Format *flatFormat `json:"format"`
	} `json:"text"`
	Reasoning struct {
		Effort  string          `json:"effort"`
		Summary json.RawMessage `json:"summary"`
	} `json:"reasoning"`
	Previous   *string         `json:"previous_response_id"`
	Background bool            `json:"background"`
	Truncation json.RawMessage `json:"truncation"`
	Include    json.RawMessage `json:"include"`
}

// A flatTool is a tool whose function has no object of its own.
type flatTool struct {
	Type string `json:"type"`
	function
}

// A flatFormat is a format whose schema has no object of its own.
type flatFormat struct {
	Type   string          `json:"type"`
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
	Strict *bool           `json:"strict"`
}

// An input is a text or items.
type input []item

// UnmarshalJSON implements [json.Unmarshaler].
func (p *input) UnmarshalJSON(b []byte) error {
	*p = nil
	if len(b) > 0 && b[0] == '"' {
		var text string
		if err := json.Unmarshal(b, &text); err != nil {
			return err
		}
		*p = input{{Role: "user", Content: content{text: text}}}
		return nil
	}
	return json.Unmarshal(b, (*[]item)(p))
}

// An item is a message, a call of a function, its output, or reasoning.
type item struct {
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	Content   content         `json:"content"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	Output    content         `json:"output"`
	ID        json.RawMessage `json:"id"`
	Status    json.RawMessage `json:"status"`
	Summary   json.RawMessage `json:"summary"`
}

// conversation returns the messages of the items. Calls that follow one another are of
// one turn of the assistant.
func (in *respondRequest) messages() ([]atenia.Message, error) {
	var list []message
	if in.Instructions != "" {
		list = append(list, message{Role: "system", Content: content{text: in.Instructions}})
	}
	names := map[string]string{}
	for i, e := range in.Input {
		switch e.Type {
		case "", "message":
			list = append(list, message{Role: e.Role, Content: e.Content})
		case "function_call":
			c := call{ID: e.CallID, Type: "function"}
			c.Function.Name, c.Function.Arguments = e.Name, e.Arguments
			names[e.CallID] = e.Name
			if n := len(list); n > 0 && list[n-1].Role == "assistant" {
				list[n-1].ToolCalls = append(list[n-1].ToolCalls, c)
			} else {
				list = append(list, message{Role: "assistant", ToolCalls: []call{c}})
			}
		case "function_call_output":
			list = append(list, message{Role: "tool", Content: e.Output, ToolCallID: e.CallID, Name: names[e.CallID]})
		case "reasoning": // templates leave out what was thought in earlier turns
		default:
			return nil, host.Unsupported("input", "input[%d] is of type %q, which is not supported", i, e.Type)
		}
	}
	if len(list) == 0 {
		return nil, host.Invalid("input", "input is empty or missing")
	}
	return messages(list)
}

func (in *respondRequest) conversation(l *host.Lease) (c atenia.Conversation, err error) {
	most := in.MaxOutput
	if most == nil {
		most = in.MaxTokens
	}
	if c.Options, err = in.options(l.Model, most, 0); err != nil {
		return c, err
	}
	if f := in.Text.Format; f != nil {
		if err := (&format{Type: f.Type, Schema: &schema{Name: f.Name, Schema: f.Schema, Strict: f.Strict}}).constrain(&c.Options, "text.format"); err != nil {
			return c, err
		}
	}
	if in.Reasoning.Effort != "" {
		c.Variables = map[string]any{"reasoning_effort": in.Reasoning.Effort}
	}
	fs := make([]function, len(in.Tools))
	for i, t := range in.Tools {
		if t.Type != "function" {
			return c, host.Unsupported("tools", "tools[%d] is of type %q, want function", i, t.Type)
		}
		fs[i] = t.function
	}
	if err := in.ToolChoice.into(&c, fs); err != nil {
		return c, err
	}
	c.Messages, err = in.messages()
	return c, err
}

func respond(_ http.ResponseWriter, r *host.Request) error {
	var in respondRequest
	if err := r.ReadJSON(&in); err != nil {
		return err
	}
	switch {
	case in.Previous != nil && *in.Previous != "":
		return host.Unsupported("previous_response_id", "no responses are kept: send the whole conversation as input")
	case in.Background:
		return host.Unsupported("background", "background is not supported")
	}
	o := newOutput(r.ID, &in)
	if in.Stream {
		events := r.Events(host.Manner{Ping: ping, Fail: o.fail})
		o.send = func(e event) error {
			e["sequence_number"] = o.sequence
			o.sequence++
			return events.Event(fmt.Sprint(e["type"]), e)
		}
	}
	l, err := r.Borrow(in.Model)
	if err != nil {
		return err
	}
	defer l.Release()
	o.response.Model = l.Info.Name
	c, err := in.conversation(l)
	if err != nil {
		return err
	}
	for t, err := range r.Chat(l, c) {
		if err == nil {
			err = o.take(t)
		}
		if err != nil {
			return err
		}
	}
	if in.Stream {
		return nil
	}
	return r.WriteJSON(http.StatusOK, o.response)
}
