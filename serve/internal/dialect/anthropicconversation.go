package dialect

// From a request to a conversation.

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"atenia"
	"atenia/serve/internal/host"
)

// conversation returns what a request says. base is the sampling of a request that
// says nothing about it.
func (in *anthropicRequest) conversation(base atenia.Sampling) (atenia.Conversation, error) {
	var c atenia.Conversation
	if err := in.check(); err != nil {
		return c, err
	}
	t := translator{names: map[string]string{}}
	if err := t.system(in.System); err != nil {
		return c, err
	}
	for i := range in.Messages {
		if err := t.message(&in.Messages[i]); err != nil {
			return c, inMessage(err, i)
		}
	}
	c.Messages, c.ParseSpecial = t.messages(), in.ParseSpecial
	if len(c.Messages) == 0 {
		return c, host.Invalid("messages", "messages: nothing is said in any of them")
	}
	last := in.Messages[len(in.Messages)-1]
	c.Continue = last.Role == "assistant"
	if final := &c.Messages[len(c.Messages)-1]; c.Continue && len(final.ToolCalls) > 0 {
		return c, host.Invalid("messages", "messages: the last one calls tools, so that the next one has to bring their results (tool_result)")
	}
	if err := in.tools(&c); err != nil {
		return c, err
	}
	in.think(&c)
	return c, in.options(&c.Options, base)
}

// inMessage names the message that a problem is in.
func inMessage(err error, message int) error {
	if p, ok := err.(*host.Problem); ok {
		return host.Invalid("messages", "messages.%d: %s", message, p.Message)
	}
	return err
}

// check finds what is missing.
func (in *anthropicRequest) check() error {
	switch {
	case in.Model == "":
		return host.Invalid("model", "model: field required")
	case len(in.Messages) == 0:
		return host.Invalid("messages", "messages: at least one message is required")
	case in.MaxTokens != nil && *in.MaxTokens < 1:
		return host.Invalid("max_tokens", "max_tokens: %d is less than 1", *in.MaxTokens)
	}
	if t := in.Thinking; t != nil && !slices.Contains([]string{"enabled", "disabled", "adaptive"}, t.Type) {
		return host.Unsupported("thinking", "thinking.type: %q is none of enabled, disabled and adaptive", t.Type)
	}
	if f := in.OutputConfig.Format; f != nil && f.Type != "json_schema" {
		return host.Unsupported("output_config", "output_config.format.type: %q is not json_schema", f.Type)
	}
	return nil
}

// A translator makes messages of a conversation out of blocks.
type translator struct {
	out   []turn
	names map[string]string // of functions, by the ids of their calls
}

// A turn is a message whose texts come in blocks, which are joined once.
type turn struct {
	atenia.Message
	texts, thoughts []string
}

// messages returns the conversation.
func (t *translator) messages() (out []atenia.Message) {
	for i := range t.out {
		x := &t.out[i]
		between := "\n"
		if x.Role == "assistant" { // what it said without a break
			between = ""
		}
		if x.texts != nil {
			x.Content = strings.Join(x.texts, between)
		}
		x.Reasoning = strings.Join(x.thoughts, "")
		out = append(out, x.Message)
	}
	return out
}

func (t *translator) system(c blocks) error {
	text, err := joined(c, "system")
	if text = unbilled(text); err != nil || text == "" {
		return err
	}
	t.out = append(t.out, turn{Message: atenia.Message{Role: "system", Content: text}})
	return nil
}

// unbilled returns a text without the lines by which Anthropic's clients tell the service whose
// account a request is of: they change with each request, so that no prompt would begin as one before.
func unbilled(text string) string {
	const mark = "x-anthropic-billing-header:"
	if !strings.Contains(text, mark) {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, mark) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// joined joins blocks that can be nothing but text.
func joined(c blocks, where string) (string, error) {
	var list []string
	for _, b := range c {
		if b.Type != "text" {
			return "", host.Unsupported(where, "%s: blocks of the type %q are not supported, only text", where, b.Type)
		}
		list = append(list, b.Text)
	}
	return strings.Join(list, "\n"), nil
}

func (t *translator) message(m *anthropicMessage) error {
	switch m.Role {
	case "user":
		return t.user(m.Content)
	case "assistant":
		return t.assistant(m.Content)
	case "system": // which Claude Code sends
		return t.system(m.Content)
	}
	return host.Invalid("messages", `role: %q is none of "user", "assistant" and "system"`, m.Role)
}

// user adds a turn of the user. Results of tools are messages of their own; text
// that follows another turn of the user belongs to it.
func (t *translator) user(c blocks) error {
	for i := range c {
		b := &c[i]
		if b.Type == "tool_result" {
			m, err := t.result(b)
			if err != nil {
				return err
			}
			t.out = append(t.out, m)
			continue
		}
		parts, err := b.parts()
		if err != nil {
			return err
		}
		if n := len(t.out); n == 0 || t.out[n-1].Role != "user" {
			t.out = append(t.out, turn{Message: atenia.Message{Role: "user"}})
		}
		t.out[len(t.out)-1].join(parts)
	}
	if len(c) == 0 {
		return host.Invalid("messages", "content: a message of the user cannot be empty")
	}
	return nil
}

// join appends parts to a message. Texts are lines of one text as long as there is no
// image: every chat template takes a string.
func (x *turn) join(parts []atenia.ContentPart) {
	for _, p := range parts {
		switch {
		case x.Parts == nil && p.Image == nil && len(x.texts) == 1 && x.texts[0] == "":
			x.texts[0] = p.Text
		case x.Parts == nil && p.Image == nil:
			x.texts = append(x.texts, p.Text)
		default:
			if text := strings.Join(x.texts, "\n"); x.Parts == nil && text != "" {
				x.Parts = []atenia.ContentPart{{Text: text}}
			}
			x.texts = nil
			x.Parts = append(x.Parts, p)
		}
	}
}

// result is the message of a tool's result.
func (t *translator) result(b *block) (turn, error) {
	name, ok := t.names[b.ToolUseID]
	if !ok {
		return turn{}, host.Invalid("messages", "tool_result: no tool_use before it has the id %q", b.ToolUseID)
	}
	m := turn{Message: atenia.Message{Role: "tool", ToolCallID: b.ToolUseID, Name: name}}
	for i := range b.Content {
		parts, err := b.Content[i].parts()
		if err != nil {
			return m, err
		}
		m.join(parts)
	}
	return m, nil
}

// parts returns what a block of a user or of a tool shows.
func (b *block) parts() ([]atenia.ContentPart, error) {
	switch b.Type {
	case "text":
		return []atenia.ContentPart{{Text: b.Text}}, nil
	case "image":
		data, err := b.Source.image()
		return []atenia.ContentPart{{Image: data}}, err
	case "document":
		return b.document()
	case "":
		return nil, host.Invalid("messages", "content: a block has no type")
	}
	return nil, host.Unsupported("messages", "content: blocks of the type %q are not supported in this place; text, image, document and tool_result are", b.Type)
}

func (s *blockSource) image() ([]byte, error) {
	switch {
	case s == nil:
		return nil, host.Invalid("messages", "image: source: field required")
	case s.Type != "base64":
		return nil, host.Unsupported("messages", "image: a source of the type %q is not supported: send the image itself (base64), this server fetches nothing", s.Type)
	}
	data, err := base64.StdEncoding.DecodeString(s.Data)
	switch {
	case err != nil:
		return nil, host.Invalid("messages", "image: the data are not base64: %v", err)
	case len(data) == 0:
		return nil, host.Invalid("messages", "image: no data")
	}
	return data, nil
}

// document returns a document as text under its title.
func (b *block) document() ([]atenia.ContentPart, error) {
	var text string
	switch s := b.Source; {
	case s == nil:
		return nil, host.Invalid("messages", "document: source: field required")
	case s.Type == "text":
		text = s.Data
	case s.Type == "content":
		var err error
		if text, err = joined(s.Content, "document"); err != nil {
			return nil, err
		}
	default:
		return nil, host.Unsupported("messages", "document: a source of the type %q (%s) is not supported: send its text", s.Type, s.MediaType)
	}
	if b.Title != "" {
		text = b.Title + "\n\n" + text
	}
	return []atenia.ContentPart{{Text: text}}, nil
}

// assistant adds a turn of the model. Texts are what it said without a break.
func (t *translator) assistant(c blocks) error {
	if n := len(t.out); n == 0 || t.out[n-1].Role != "assistant" {
		t.out = append(t.out, turn{Message: atenia.Message{Role: "assistant"}})
	}
	m := &t.out[len(t.out)-1]
	for i := range c {
		switch b := &c[i]; b.Type {
		case "text":
			m.texts = append(m.texts, b.Text)
		case "thinking":
			m.thoughts = append(m.thoughts, b.Thinking)
		case "redacted_thinking": // encrypted by Anthropic
		case "tool_use":
			if b.ID == "" || b.Name == "" {
				return host.Invalid("messages", "tool_use: id and name are required")
			}
			if !host.IsObject(b.Input) {
				return host.Invalid("messages", "tool_use: input is not an object")
			}
			t.names[b.ID] = b.Name
			m.ToolCalls = append(m.ToolCalls, atenia.ToolCall{ID: b.ID, Name: b.Name, Arguments: b.Input})
		default:
			return host.Unsupported("messages", "content: blocks of the type %q are not supported in this place; text, thinking and tool_use are", b.Type)
		}
	}
	return nil
}

// leaveOut takes Anthropic's own tools out of a request.
func (in *anthropicRequest) leaveOut(r *host.Request) error {
	for i := range in.Tools {
		if t := &in.Tools[i]; t.Type != "" && t.Type != "custom" {
			t.left = true
			if err := r.LeaveOut(fmt.Sprintf("tools.%d", i), t.Type); err != nil {
				return err
			}
		}
	}
	return nil
}

// tools adds the functions that may be called.
func (in *anthropicRequest) tools(c *atenia.Conversation) error {
	for i, t := range in.Tools {
		if t.left {
			continue
		}
		if t.Name == "" {
			return host.Invalid("tools", "tools.%d.name: field required", i)
		}
		c.Tools = append(c.Tools, atenia.Tool{Name: t.Name, Description: t.Description, Parameters: t.InputSchema})
	}
	return in.choose(c)
}

// choose says which of the functions have to be called.
func (in *anthropicRequest) choose(c *atenia.Conversation) error {
	if in.ToolChoice == nil {
		return nil
	}
	c.OneCall = in.ToolChoice.DisableParallel
	switch choice := in.ToolChoice; choice.Type {
	case "auto":
	case "none":
		c.Tools = nil
	case "tool":
		if !slices.ContainsFunc(c.Tools, func(t atenia.Tool) bool { return t.Name == choice.Name }) {
			return host.Invalid("tool_choice", "tool_choice: there is no tool %q", choice.Name)
		}
		c.MustCall = choice.Name
	case "any":
		if len(c.Tools) == 0 {
			return host.Invalid("tool_choice", "tool_choice: any needs tools")
		}
		c.MustCall = atenia.AnyTool
	default:
		return host.Invalid("tool_choice", "tool_choice.type: %q is none of auto, any, tool and none", choice.Type)
	}
	return nil
}

// think passes on whether the model is to think: the answer to a request that does not
// ask for it begins with its text, which clients rely on.
func (in *anthropicRequest) think(c *atenia.Conversation) {
	set := func(name string, v any) {
		if c.Variables == nil {
			c.Variables = map[string]any{}
		}
		c.Variables[name] = v
	}
	if in.Thinking == nil || in.Thinking.Type != "adaptive" {
		set("enable_thinking", in.thinks())
	}
	switch e := in.OutputConfig.Effort; e {
	case "low", "medium", "high":
		set("reasoning_effort", e) // gpt-oss's name
	case "xhigh", "max":
		set("reasoning_effort", "high")
	}
}

// thinks reports whether the client asked for thoughts.
func (in *anthropicRequest) thinks() bool {
	return in.Thinking != nil && (in.Thinking.Type == "enabled" || in.Thinking.Type == "adaptive")
}

// options adds the limits of the answer and how it is sampled.
func (in *anthropicRequest) options(o *atenia.Options, base atenia.Sampling) error {
	for i, s := range in.StopSequences {
		if s == "" {
			return host.Invalid("stop_sequences", "stop_sequences.%d: it is empty", i)
		}
	}
	if f := in.OutputConfig.Format; f != nil {
		if len(f.Schema) == 0 {
			return host.Invalid("output_config", "output_config.format.schema: field required")
		}
		o.Schema = f.Schema
	}
	o.Sampling = base
	return host.Fill(in, o)
}
