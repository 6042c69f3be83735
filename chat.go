package atenia

import (
	"context"
	"iter"

	"atenia/internal/text/chat"
)

// A Message is one turn of a conversation.
type Message struct {
	Role    string // "system", "user", "assistant", "tool"
	Content string
	// Parts are what the message says instead of Content, if not nil: texts and
	// images in order.
	Parts []ContentPart
}

// A Conversation is what was said so far. The model answers as the assistant.
type Conversation struct {
	Messages []Message
	// Variables are further variables of the model's chat template, such as
	// "enable_thinking". Values are strings, numbers, bools, nil, and slices
	// and maps of them.
	Variables map[string]any
	Options
}

// Chat answers a conversation, formatted by the model's own chat template. It
// yields tokens as [Model.Generate] does.
//
// A Model keeps no conversation: append the answer to Messages as an "assistant"
// message and call Chat again. Keys and values that are still cached are used
// again, so only new messages are computed. A model without a template returns
// [ErrNoTemplate]. [Model.Render] shows the text that the model is given.
func (m *Model) Chat(ctx context.Context, c Conversation) iter.Seq2[Token, error] {
	return func(yield func(Token, error) bool) {
		prompt, err := m.Render(c)
		if err != nil {
			yield(Token{}, err)
			return
		}
		images, err := c.imagesOf()
		if err != nil {
			yield(Token{}, err)
			return
		}
		ids, places, err := m.see(ctx, prompt, images, false)
		if err != nil {
			yield(Token{}, err)
			return
		}
		m.generate(ctx, ids, places, &c.Options, yield)
	}
}

// Render returns the text that the model's chat template makes of a
// conversation, ending where the assistant's answer begins.
func (m *Model) Render(c Conversation) (string, error) {
	if m.text.Tokenizer == nil {
		return "", m.textErr
	}
	if m.text.Template == nil {
		if m.textErr != nil {
			return "", m.textErr
		}
		return "", ErrNoTemplate
	}
	ctx := chat.Context{AddGenerationPrompt: true, Vars: chat.NewMap()}
	messages := make([]any, len(c.Messages))
	for i, msg := range c.Messages {
		o := chat.NewMap()
		o.Set("role", msg.Role)
		o.Set("content", msg.content())
		messages[i] = o
	}
	ctx.Messages = messages
	for name, v := range m.text.Vars {
		ctx.Vars.Set(name, v)
	}
	for name, v := range c.Variables {
		ctx.Vars.Set(name, v)
	}
	r, err := m.text.Template.Render(&ctx)
	return r.Text, err
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

// HasChat reports whether the model has a chat template that can be run, and
// why not.
func (m *Model) HasChat() (bool, error) {
	if m.text.Tokenizer != nil && m.text.Template != nil {
		return true, nil
	}
	if m.textErr != nil {
		return false, m.textErr
	}
	return false, ErrNoTemplate
}
