package atenia

// What a conversation is for a chat template: the objects that transformers passes.

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"atenia/internal/spelling"
	"atenia/internal/text/chat"
)

// render runs a template with the variables that the model's folder defines. The result
// tells which of some marks the conversation said.
func (c *Conversation) render(ctx context.Context, t *chat.Template, vars map[string]string, control *chat.Control) (chat.Result, error) {
	if c.Continue && (len(c.Messages) == 0 || c.Messages[len(c.Messages)-1].Role != "assistant") {
		return chat.Result{}, &ConfigError{"Continue", nil, "a last message of the assistant, which the answer continues"}
	}
	if c.Continue {
		marked, err := c.marked()
		if err != nil {
			return chat.Result{}, err
		}
		c = marked
	}
	if c.ParseSpecial {
		control = nil
	}
	r, err := c.renderWith(ctx, t, vars, control, false)
	// Most templates write the arguments of calls as JSON; others, such as DeepSeek's, want
	// them as JSON already and fail on an object.
	if err != nil && c.calls() && ctx.Err() == nil {
		if again, failed := c.renderWith(ctx, t, vars, control, true); failed == nil {
			r, err = again, nil
		}
	}
	if cause := context.Cause(ctx); cause != nil {
		return r, cause
	}
	if err != nil || !c.Continue {
		return r, err
	}
	r.Text, err = c.cut(r.Text)
	n, _ := slices.BinarySearch(r.Said, len(r.Text))
	r.Said = r.Said[:n]
	return r, err
}

func (c *Conversation) calls() bool {
	for i := range c.Messages {
		if len(c.Messages[i].ToolCalls) > 0 {
			return true
		}
	}
	return false
}

func (c *Conversation) renderWith(ctx context.Context, t *chat.Template, vars map[string]string, control *chat.Control, written bool) (chat.Result, error) {
	done := ctx.Done()
	in := chat.Context{AddGenerationPrompt: !c.NoPrompt && !c.Continue, Vars: chat.NewMap(), Asked: chat.NewMap(), Control: control, Done: done}
	messages := chat.NewList()
	for i := range c.Messages {
		v, err := c.Messages[i].value(done, written)
		if err != nil {
			return chat.Result{}, unfit("message %d: %w", i+1, err)
		}
		messages.Items = append(messages.Items, v)
	}
	in.Messages = messages
	if len(c.Tools) > 0 {
		tools := chat.NewList()
		for _, tool := range c.Tools {
			v, err := tool.value(done)
			if err != nil {
				return chat.Result{}, unfit("tool %s: %w", spelling.Quotable(tool.Name), err)
			}
			tools.Items = append(tools.Items, v)
		}
		in.Tools = tools
	}
	if len(c.Documents) > 0 {
		documents := chat.NewList()
		for _, d := range c.Documents {
			documents.Items = append(documents.Items, object("title", d.Title, "text", d.Text))
		}
		in.Documents = documents
	}
	for name, v := range vars {
		in.Vars.Set(name, v)
	}
	for name, v := range c.Variables {
		v, err := chat.ValueOf(v)
		if err != nil {
			return chat.Result{}, unfit("variable %s: %w", spelling.Quotable(name), err)
		}
		in.Asked.Set(name, v)
	}
	return t.Render(&in)
}

// unfit returns the error of a value that a template cannot have: whoever made the
// conversation can change that.
func unfit(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &publishedError{err, &TemplateError{err.Error()}}
}

// continued stands at the end of a message that the model continues while it is
// rendered; the text is transformers', which some templates may treat as they do a word.
const continued = "CONTINUE_FINAL_MESSAGE_TAG "

// marked returns the conversation with a mark at the end of its last text.
func (c *Conversation) marked() (*Conversation, error) {
	with := *c
	with.Messages = slices.Clone(c.Messages)
	last := &with.Messages[len(with.Messages)-1]
	if last.Parts == nil {
		last.Content += continued
		return &with, nil
	}
	last.Parts = slices.Clone(last.Parts)
	for i := range slices.Backward(last.Parts) {
		if p := &last.Parts[i]; p.Image == nil && p.Video == nil {
			p.Text += continued
			return &with, nil
		}
	}
	return nil, &ConfigError{"Continue", nil, "a text in the last message, which the answer continues"}
}

// cut returns the text up to the mark. A template that trimmed the space after the mark
// would have trimmed that before it.
func (c *Conversation) cut(text string) (string, error) {
	at := strings.LastIndex(text, strings.TrimSpace(continued))
	said := strings.TrimSuffix(c.Messages[len(c.Messages)-1].Text(), continued)
	if at < 0 || !strings.Contains(text, strings.TrimSpace(said)) {
		return "", &TemplateError{"it changes or leaves out the last message, so that its answer cannot be continued"}
	}
	if strings.HasPrefix(text[at:], continued) {
		return text[:at], nil
	}
	return strings.TrimRight(text[:at], " \t\n\r\v\f"), nil
}

// Text returns what a message says without its images.
func (m *Message) Text() string {
	if m.Parts == nil {
		return m.Content
	}
	var b strings.Builder
	for _, p := range m.Parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

// object returns a map of names and values.
func object(pairs ...any) *chat.Map {
	o := chat.NewMap()
	for i := 0; i < len(pairs); i += 2 {
		o.Set(pairs[i], pairs[i+1])
	}
	return o
}

// value returns the message for a template, the arguments of calls as objects or as
// they are written.
func (m *Message) value(done <-chan struct{}, written bool) (chat.Value, error) {
	o := object("role", m.Role, "content", m.content())
	if m.Reasoning != "" {
		o.Set("reasoning_content", m.Reasoning)
		o.Set("thinking", m.Reasoning) // gpt-oss's name
	}
	if m.ToolCallID != "" {
		o.Set("tool_call_id", m.ToolCallID)
	}
	if m.Name != "" {
		o.Set("name", m.Name)
	}
	if len(m.ToolCalls) == 0 {
		return o, nil
	}
	calls := chat.NewList()
	for _, call := range m.ToolCalls {
		arguments := call.Arguments
		if arguments == nil {
			arguments = json.RawMessage("{}")
		}
		v, err := chat.DecodeJSONUntil(done, arguments)
		if err != nil {
			return nil, fmt.Errorf("the arguments of %s: %w", spelling.Quotable(call.Name), err)
		}
		if _, ok := v.(*chat.Map); !ok {
			return nil, fmt.Errorf("the arguments of %s are not an object", spelling.Quotable(call.Name))
		}
		if written {
			v = string(arguments)
		}
		calls.Items = append(calls.Items, object("id", call.ID, "type", "function", "function", object("name", call.Name, "arguments", v)))
	}
	o.Set("tool_calls", calls)
	return o, nil
}

// value returns the tool for a template.
func (t *Tool) value(done <-chan struct{}) (chat.Value, error) {
	f := object("name", t.Name, "description", t.Description)
	parameters := t.Parameters
	if parameters == nil {
		parameters = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	v, err := chat.DecodeJSONUntil(done, parameters)
	if err != nil {
		return nil, fmt.Errorf("parameters: %w", err)
	}
	f.Set("parameters", v)
	return object("type", "function", "function", f), nil
}

// content returns a message's content for a template: a string, or, with images, a
// list of parts.
func (m *Message) content() any {
	if m.Parts == nil {
		return m.Content
	}
	parts := chat.NewList()
	text, images := "", false
	for _, p := range m.Parts {
		o := chat.NewMap()
		switch {
		case p.Image != nil:
			o.Set("type", "image")
			images = true
		case p.Video != nil:
			o.Set("type", "video")
			images = true
		default:
			o.Set("type", "text")
			o.Set("text", p.Text)
			text += p.Text
		}
		parts.Items = append(parts.Items, o)
	}
	if !images { // every template reads a string
		return text
	}
	return parts
}
