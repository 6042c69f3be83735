package data

// Encoding documents as tokens, and selecting which tokens of a conversation are
// learnt.

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"atenia/internal/model/text"
	"atenia/internal/sight"
	"atenia/internal/text/chat"
	"atenia/internal/text/token"
)

// none is a missing token.
const none int32 = -1

// An encoder converts documents to tokens. Tokens without loss are stored as
// their complements.
type encoder struct {
	text       *text.Text
	end        int32 // or none
	senses     *Senses
	everything bool
}

// piece appends the tokens of a text, or of a piece of one.
func (e *encoder) piece(dst []int32, d *token.Document, first bool) []int32 {
	dst = append(dst, e.text.Tokenizer.Encode(d.Text, first)...)
	if e.end != none && !d.More && (len(dst) == 0 || dst[len(dst)-1] != e.end) {
		dst = append(dst, e.end)
	}
	return dst
}

// renderNow is the time passed to templates, because data must not depend on the
// clock.
var renderNow = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)

// A dialogue is a conversation that is rendered up to several points.
type dialogue struct {
	e        *encoder
	messages []chat.Value
	tools    chat.Value
}

// render returns the text of the messages, with the prompt for an answer if
// prompt is set. What the messages say has no control tokens.
func (c *dialogue) render(messages []chat.Value, prompt bool) (chat.Result, error) {
	ctx := chat.Context{Messages: chat.NewList(messages...), Tools: c.tools, AddGenerationPrompt: prompt, Vars: chat.NewMap(), Now: renderNow, Control: c.e.text.Control()}
	for name, v := range c.e.text.Vars {
		if err := ctx.Vars.Set(name, v); err != nil {
			return chat.Result{}, err
		}
	}
	return c.e.text.Template.Render(&ctx)
}

// conversation appends the tokens of a conversation, with loss on the answers, and
// returns the images that it shows.
func (e *encoder) conversation(dst []int32, d *token.Document) ([]int32, *Media, error) {
	if e.senses.Hears() {
		return nil, nil, fmt.Errorf("%w: a conversation, and the model writes down sounds: want {\"audio\": …, \"text\": …}", errConfig)
	}
	if e.text.Template == nil {
		return nil, nil, fmt.Errorf("%w: a conversation, and the model has no chat template", errConfig)
	}
	c := &dialogue{e: e}
	list, err := chat.DecodeJSON(d.Messages)
	if err != nil {
		return nil, nil, err
	}
	if l, ok := list.(*chat.List); ok {
		c.messages = l.Items
	}
	if d.Tools != nil {
		if c.tools, err = chat.DecodeJSON(d.Tools); err != nil {
			return nil, nil, err
		}
	}
	shown, err := takeImages(c.messages, filepath.Dir(d.File))
	if err != nil {
		return nil, nil, err
	}
	whole, err := c.render(c.messages, false)
	if err != nil {
		return nil, nil, err
	}
	var answers []answer
	if !e.everything {
		if answers, err = c.answers(whole); err != nil {
			return nil, nil, err
		}
	}
	var seen []*sight.Seen
	if len(shown) > 0 {
		if seen, err = e.show(&whole, answers, shown); err != nil {
			return nil, nil, err
		}
	}
	ids, places := e.text.Tokenizer.EncodeSaid(whole.Text, whole.Said, false)
	over := false // the token that ends the answer has been seen
	for i, id := range ids {
		at := places[i].Start
		for len(answers) > 0 && at >= answers[0].to {
			answers, over = answers[1:], false
		}
		if !e.everything && (over || len(answers) == 0 || at < answers[0].from) {
			dst = append(dst, ^id)
			continue
		}
		over = slices.Contains(e.text.Stop, id)
		dst = append(dst, id)
	}
	if len(seen) == 0 {
		return dst, nil, nil
	}
	m, err := e.place(dst[len(dst)-len(ids):], ids, seen, shown)
	return dst, m, err
}

// An answer is a range of code points, in the whole text, written by the model.
// What follows its end token is not learnt.
type answer struct{ from, to int }

// errAnswer says that the position of an answer cannot be determined.
var errAnswer = errors.New("what the chat template makes of the conversation does not show where the answers are")

// answers locates the answers in the text of the whole conversation. A template
// may mark them itself ({% generation %}). Otherwise an answer is what follows
// the prompt for it, up to the start of the next message. If a template renders
// earlier answers differently from the last one (for example without its
// reasoning), the conversation is rendered with another content in its place,
// and the difference is the answer.
func (c *dialogue) answers(whole chat.Result) ([]answer, error) {
	var list []answer
	if len(whole.Assistant) > 0 {
		for _, a := range whole.Assistant {
			list = append(list, answer{a[0], a[1]})
		}
		return list, nil
	}
	for i, m := range c.messages {
		o, ok := m.(*chat.Map)
		if !ok {
			return nil, errAnswer
		}
		if role, _ := o.Get("role"); role != "assistant" && role != "model" {
			continue
		}
		from, to, ok := c.between(whole.Text, i)
		if !ok {
			from, to, ok = c.replaced(whole.Text, i)
		}
		if !ok {
			return nil, fmt.Errorf("message %d: %w", i, errAnswer)
		}
		list = append(list, answer{utf8.RuneCountInString(whole.Text[:from]), utf8.RuneCountInString(whole.Text[:to])})
	}
	return list, nil
}

// between locates message i after the prompt for it, in bytes.
func (c *dialogue) between(whole string, i int) (from, to int, ok bool) {
	before, err := c.render(c.messages[:i], true)
	if err != nil || !strings.HasPrefix(whole, before.Text) {
		return 0, 0, false
	}
	from = len(before.Text)
	after, err := c.render(c.messages[:i+1], false)
	if err == nil && strings.HasPrefix(whole, after.Text) && len(after.Text) > from {
		return from, len(after.Text), true
	}
	// The answer is rendered differently when it comes last; search to the end.
	to = len(whole) + 1
	for _, s := range c.e.endings() {
		if k := strings.Index(whole[from:], s); k >= 0 {
			to = min(to, from+k+len(s))
		}
	}
	return from, to, to <= len(whole)
}

// replaced locates the content of message i, including the end token, by
// rendering with another content, in bytes.
func (c *dialogue) replaced(whole string, i int) (from, to int, ok bool) {
	const other = "\ue000" // private use: occurs in no text
	m := c.messages[i].(*chat.Map)
	if _, isText := get(m, "content").(string); !isText {
		return 0, 0, false
	}
	m = m.Clone()
	if m.Set("content", other) != nil {
		return 0, 0, false
	}
	messages := slices.Clone(c.messages)
	messages[i] = m
	changed, err := c.render(messages, false)
	if err != nil {
		return 0, 0, false
	}
	at := strings.Index(changed.Text, other)
	if at < 0 || !strings.HasPrefix(whole, changed.Text[:at]) {
		return 0, 0, false
	}
	tail := changed.Text[at+len(other):]
	if !strings.HasSuffix(whole, tail) || at+len(tail) > len(whole) {
		return 0, 0, false
	}
	to = len(whole) - len(tail)
	// An end token that follows immediately is learnt, too.
	for _, s := range c.e.endings() {
		if strings.HasPrefix(tail, s) {
			return at, to + len(s), true
		}
	}
	return at, to, true
}

// endings returns the texts of the tokens that end an answer.
func (e *encoder) endings() (list []string) {
	for _, id := range e.text.Stop {
		if s, ok := e.text.Tokenizer.Token(id); ok && s != "" {
			list = append(list, s)
		}
	}
	return list
}

// get returns a value of a map, or nil.
func get(m *chat.Map, key string) chat.Value {
	v, _ := m.Get(key)
	return v
}
