package dialect

// The bodies of requests, as Ollama's API reference names their fields.

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"atenia"
	"atenia/serve/internal/host"
)

// ollamaCommon is what chat and generate share.
type ollamaCommon struct {
	Model       string           `json:"model"`
	Stream      *bool            `json:"stream"` // nil = true
	Format      json.RawMessage  `json:"format"` // "json", or a schema
	Options     ollamaOptions    `json:"options"`
	KeepAlive   *keepAlive       `json:"keep_alive"`
	Think       *ollamaThink     `json:"think"`
	LogProbs    bool             `json:"logprobs"`
	TopLogProbs int              `json:"top_logprobs"`
	Special     bool             `json:"parse_special"`
	Receipt     host.ReceiptWish `json:"receipt"`
	host.Unbuilt
}

// An ollamaChatRequest is the body of /api/chat.
type ollamaChatRequest struct {
	ollamaCommon
	Messages []ollamaMessage `json:"messages"`
	Tools    []ollamaTool    `json:"tools"`
}

// An ollamaGenerateRequest is the body of /api/generate.
type ollamaGenerateRequest struct {
	ollamaCommon
	Prompt   string   `json:"prompt"`
	Suffix   string   `json:"suffix"`
	System   string   `json:"system"`
	Template string   `json:"template"`
	Context  []int32  `json:"context"`
	Raw      bool     `json:"raw"`
	Images   []string `json:"images"`
}

type ollamaMessage struct {
	Role       string       `json:"role"`
	Content    string       `json:"content"`
	Thinking   string       `json:"thinking,omitempty"`
	Images     []string     `json:"images,omitempty"`
	ToolCalls  []ollamaCall `json:"tool_calls,omitempty"`
	ToolName   string       `json:"tool_name,omitempty"`
	ToolCallID string       `json:"tool_call_id,omitempty"`
}

type ollamaCall struct {
	ID       string         `json:"id,omitempty"`
	Function ollamaFunction `json:"function"`
}

type ollamaFunction struct {
	Index     int             `json:"index"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

type ollamaTool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`

	left bool // out of the request
}

// An ollamaEmbedRequest is the body of /api/embed and, with a prompt, of the older
// /api/embeddings.
type ollamaEmbedRequest struct {
	Model      string          `json:"model"`
	Input      oneOrMore       `json:"input"`
	Prompt     string          `json:"prompt"`
	Truncate   *bool           `json:"truncate"` // nil = true
	Dimensions int             `json:"dimensions"`
	Options    json.RawMessage `json:"options"` // of sampling, which vectors have none of
	KeepAlive  *keepAlive      `json:"keep_alive"`
}

// An ollamaShowRequest is the body of /api/show. Older clients call the model "name".
type ollamaShowRequest struct {
	Model   string `json:"model"`
	Name    string `json:"name"`
	Verbose bool   `json:"verbose"`
}

// oneOrMore is a list of texts; a string stands for a list of one.
type oneOrMore []string

// UnmarshalJSON implements [json.Unmarshaler].
func (o *oneOrMore) UnmarshalJSON(b []byte) error {
	if b = bytes.TrimSpace(b); bytes.HasPrefix(b, []byte(`"`)) {
		*o = oneOrMore{""}
		return json.Unmarshal(b, &(*o)[0])
	}
	if json.Unmarshal(b, (*[]string)(o)) != nil {
		return host.Invalid("", "%.40s is neither a string nor an array of strings", b)
	}
	return nil
}

// ollamaThink says whether the model is to think: a bool, or how hard, as a word.
type ollamaThink struct {
	On    bool
	Level string // "low", "medium", "high"; "" = as the model does
}

// UnmarshalJSON implements [json.Unmarshaler].
func (t *ollamaThink) UnmarshalJSON(b []byte) error {
	if json.Unmarshal(b, &t.On) == nil {
		return nil
	}
	if json.Unmarshal(b, &t.Level) == nil {
		t.On = true
		switch t.Level {
		case "low", "medium", "high":
			return nil
		}
	}
	return host.Invalid("think", `think: %.40s is none of true, false, "low", "medium" and "high"`, b)
}

// keepAlive is how long a model stays loaded after a request: seconds, or a duration
// such as "5m". Less than 0 is for ever.
type keepAlive time.Duration

// UnmarshalJSON implements [json.Unmarshaler].
func (k *keepAlive) UnmarshalJSON(b []byte) error {
	var seconds float64
	if json.Unmarshal(b, &seconds) == nil {
		const most = float64(1<<63-1) / float64(time.Second)
		*k = keepAlive(max(-1, min(seconds, most/2)) * float64(time.Second))
		return nil
	}
	var s string
	if json.Unmarshal(b, &s) == nil {
		if d, err := time.ParseDuration(s); err == nil {
			*k = keepAlive(d)
			return nil
		}
	}
	return host.Invalid("keep_alive", `keep_alive: %.40s is neither a number of seconds nor a duration such as "5m"`, b)
}

// of says how long a model stays loaded after the request, if the request does.
func (k *keepAlive) of(l *host.Lease) {
	if k != nil {
		l.Keep(time.Duration(*k))
	}
}

// none reports whether the model is to be unloaded.
func (k *keepAlive) none() bool { return k != nil && *k == 0 }

// streams reports whether the answer is wanted in pieces, which is the default.
func (c *ollamaCommon) streams() bool { return c.Stream == nil || *c.Stream }

// pictures decodes images.
func pictures(list []string) ([][]byte, error) {
	var out [][]byte
	for i, s := range list {
		b, err := base64.StdEncoding.DecodeString(s)
		switch {
		case err != nil:
			return nil, host.Invalid("images", "images[%d] is not base64: %v", i, err)
		case len(b) == 0:
			return nil, host.Invalid("images", "images[%d] is empty", i)
		}
		out = append(out, b)
	}
	return out, nil
}

// schema returns the JSON Schema that an answer has to match, nil for any text.
func (c *ollamaCommon) schema() (json.RawMessage, error) {
	switch f := bytes.TrimSpace(c.Format); {
	case len(f) == 0, string(f) == "null", string(f) == `""`:
		return nil, nil
	case string(f) == `"json"`:
		return json.RawMessage(`{"type":"object"}`), nil
	case f[0] == '{':
		return json.RawMessage(f), nil
	default:
		return nil, host.Invalid("format", `format: %.40s is neither "json" nor a JSON Schema`, []byte(f))
	}
}

// variables are what the chat template is told of think.
func (t *ollamaThink) variables() map[string]any {
	if t == nil {
		return nil
	}
	v := map[string]any{"enable_thinking": t.On}
	if t.Level != "" {
		v["reasoning_effort"] = t.Level
	}
	return v
}

// conversation returns what a chat says.
func (in *ollamaChatRequest) conversation(m ollamaLimits) (atenia.Conversation, error) {
	c := atenia.Conversation{Variables: in.Think.variables(), ParseSpecial: in.Special}
	names := map[string]string{} // of functions, by the ids of their calls
	for i := range in.Messages {
		msg, err := in.Messages[i].message(names)
		if err != nil {
			return c, err
		}
		c.Messages = append(c.Messages, msg)
	}
	last := c.Messages[len(c.Messages)-1]
	c.Continue = last.Role == "assistant" && len(last.ToolCalls) == 0
	for i, t := range in.Tools {
		f := t.Function
		switch {
		case t.left:
			continue
		case f.Name == "":
			return c, host.Invalid("tools", "tools[%d]: the function has no name", i)
		}
		c.Tools = append(c.Tools, atenia.Tool{Name: f.Name, Description: f.Description, Parameters: f.Parameters})
	}
	return c, in.answer(&c.Options, m)
}

// leaveOut takes tools out of a request that this server does not have.
func (in *ollamaChatRequest) leaveOut(r *host.Request) error {
	for i := range in.Tools {
		if t := &in.Tools[i]; t.Type != "" && t.Type != "function" {
			t.left = true
			if err := r.LeaveOut(fmt.Sprintf("tools[%d]", i), t.Type); err != nil {
				return err
			}
		}
	}
	return nil
}

// message translates one message.
func (in *ollamaMessage) message(names map[string]string) (atenia.Message, error) {
	m := atenia.Message{Role: in.Role, Content: in.Content, Reasoning: in.Thinking, ToolCallID: in.ToolCallID, Name: in.ToolName}
	switch in.Role {
	case "system", "user", "assistant":
	case "tool":
		if m.Name == "" {
			m.Name = names[in.ToolCallID]
		}
	default:
		return m, host.Invalid("messages", `messages: the role %q is none of "system", "user", "assistant" and "tool"`, in.Role)
	}
	images, err := pictures(in.Images)
	if err != nil {
		return m, err
	}
	if len(images) > 0 { // images come before the text, as Ollama has them
		m.Content = ""
		for _, b := range images {
			m.Parts = append(m.Parts, atenia.ContentPart{Image: b})
		}
		m.Parts = append(m.Parts, atenia.ContentPart{Text: in.Content})
	}
	for _, c := range in.ToolCalls {
		if !host.IsObject(c.Function.Arguments) {
			return m, host.Invalid("messages", "messages: the arguments of the call of %q are no object", c.Function.Name)
		}
		names[c.ID] = c.Function.Name
		m.ToolCalls = append(m.ToolCalls, atenia.ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
	}
	return m, nil
}
