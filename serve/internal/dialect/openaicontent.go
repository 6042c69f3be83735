package dialect

// Messages: texts, images and calls.

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"atenia"
	"atenia/serve/internal/host"
)

// An openaiMessage is one turn.
type openaiMessage struct {
	Role       string        `json:"role"`
	Content    openaiContent `json:"content"`
	Name       string        `json:"name"`
	Reasoning  string        `json:"reasoning_content"`
	Thought    string        `json:"reasoning"` // the same
	ToolCalls  []openaiCall  `json:"tool_calls"`
	ToolCallID string        `json:"tool_call_id"`

	Refusal     json.RawMessage `json:"refusal"` // what clients send back of an answer
	Annotations json.RawMessage `json:"annotations"`
	Audio       json.RawMessage `json:"audio"`

	at string // where it is in the body; "" = messages
}

// openaiContent is a text or parts.
type openaiContent struct {
	text  string
	parts []openaiPart
}

// An openaiPart is a piece of a message, of chat or of responses.
type openaiPart struct {
	Type     string   `json:"type"`
	Text     string   `json:"text"`
	ImageURL imageURL `json:"image_url"`
}

// imageURL is an object in chat, and a text in responses.
type imageURL struct{ URL string }

// UnmarshalJSON implements [json.Unmarshaler].
func (u *imageURL) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &u.URL)
	}
	var o struct {
		URL string `json:"url"`
	}
	err := json.Unmarshal(b, &o)
	u.URL = o.URL
	return err
}

// UnmarshalJSON implements [json.Unmarshaler].
func (c *openaiContent) UnmarshalJSON(b []byte) error {
	*c = openaiContent{}
	switch {
	case bytes.Equal(b, []byte("null")):
		return nil
	case len(b) > 0 && b[0] == '"':
		return json.Unmarshal(b, &c.text)
	case len(b) > 0 && b[0] == '[':
		c.parts = []openaiPart{}
		return json.Unmarshal(b, &c.parts)
	}
	return host.Invalid("messages", "content is %.20q, want a string or an array of parts", b)
}

// openaiMessages returns the messages of a conversation.
func openaiMessages(in []openaiMessage) ([]atenia.Message, error) {
	if len(in) == 0 {
		return nil, host.Invalid("messages", "messages is empty, want at least one message")
	}
	out := make([]atenia.Message, len(in))
	for i := range in {
		var err error
		if out[i], err = in[i].message(cmp.Or(in[i].at, fmt.Sprintf("messages[%d]", i))); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (m *openaiMessage) message(at string) (atenia.Message, error) {
	out := atenia.Message{Role: m.Role, Content: m.Content.text, Reasoning: cmp.Or(m.Reasoning, m.Thought), ToolCallID: m.ToolCallID, Name: m.Name}
	switch m.Role {
	case "developer":
		out.Role = "system"
	case "system", "user", "assistant", "tool":
	default:
		return out, host.Invalid(at+".role", "%s.role is %q, want system, developer, user, assistant or tool", at, m.Role)
	}
	if m.Role == "user" || m.Role == "system" {
		out.Name = "" // a participant's name, which templates do not know
	}
	if err := m.Content.into(&out, at); err != nil {
		return out, err
	}
	for j, c := range m.ToolCalls {
		if c.Custom != nil {
			c.Function.Name, c.Function.Arguments = c.Custom.Name, customArguments(c.Custom.Input)
		}
		if c.Function.Arguments == "" {
			c.Function.Arguments = "{}"
		}
		if !host.IsObject(json.RawMessage(c.Function.Arguments)) {
			return out, host.Invalid(at, "%s.tool_calls[%d].function.arguments is no JSON object", at, j)
		}
		out.ToolCalls = append(out.ToolCalls, atenia.ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: json.RawMessage(c.Function.Arguments)})
	}
	return out, nil
}

// into adds the parts of a content to a message. Texts alone are one text: many
// templates know nothing else.
func (c *openaiContent) into(m *atenia.Message, at string) error {
	var text strings.Builder
	seen := false
	var parts []atenia.ContentPart
	for j, p := range c.parts {
		switch p.Type {
		case "text", "input_text", "output_text":
			text.WriteString(p.Text)
			parts = append(parts, atenia.ContentPart{Text: p.Text})
		case "image_url", "input_image":
			b, err := image(p.ImageURL.URL, fmt.Sprintf("%s.content[%d]", at, j))
			if err != nil {
				return err
			}
			parts, seen = append(parts, atenia.ContentPart{Image: b}), true
		default:
			return host.Unsupported(at, "%s.content[%d] is of type %q, which is not supported: text and image_url are", at, j, p.Type)
		}
	}
	switch {
	case seen:
		m.Parts = parts
	case c.parts != nil:
		m.Content = text.String()
	}
	return nil
}

// image returns the bytes of a data: URL. Other URLs are refused: the server fetches
// nothing for its clients.
func image(url, at string) ([]byte, error) {
	rest, ok := strings.CutPrefix(url, "data:")
	kind, data, comma := strings.Cut(rest, ",")
	if !ok || !comma || !strings.HasSuffix(kind, ";base64") {
		return nil, host.Invalid(at, "%s is not a data: URL in base64, and the server fetches no others: data:image/png;base64,…", at)
	}
	b, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return nil, host.Invalid(at, "%s: %v", at, err)
	}
	return b, nil
}
