package atenia

// How the tokens of an answer become what is shown of it.

import (
	"math/rand/v2"

	"atenia/internal/sample"
	"atenia/internal/text/answer"
)

// A writer turns token ids into text that may be shown, reasoning and calls.
type writer struct {
	m      *Model
	stream interface {
		Next(id int32) string
		Flush() string
	}
	parser *answer.Parser // nil: all is text
	stops  *sample.Stops
	out    []answer.Event // what a Token has not said yet
}

// writer returns a writer of text alone.
func (m *Model) writer(o *Options) *writer {
	w := &writer{m: m}
	if m.text.Tokenizer != nil {
		w.stream = m.text.Tokenizer.NewStream(true)
	}
	if len(o.Stop) > 0 {
		w.stops = sample.NewStops(o.Stop)
	}
	return w
}

// reader returns a writer that tells text, reasoning and calls of an answer to a
// conversation apart. prompt is the conversation as the model reads it.
func (m *Model) reader(c *Conversation, prompt string) *writer {
	w := m.writer(&c.Options)
	if d := m.text.Answers; d != nil && !c.Raw && !d.Plain(len(c.Tools) > 0) {
		o := answer.Options{Prompt: prompt, NewID: newCallID}
		for _, t := range c.Tools {
			o.Tools = append(o.Tools, answer.Tool{Name: t.Name, Parameters: t.Parameters})
		}
		w.parser = answer.New(d, o)
		w.stream = m.text.Tokenizer.NewStream(false)
	}
	return w
}

// newCallID returns nine letters and digits, which is what Mistral's templates ask for.
func newCallID() string {
	const digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	var id [9]byte
	for i := range id {
		id[i] = digits[rand.IntN(len(digits))]
	}
	return string(id[:])
}

// add takes a token, and reports whether a stop string ended the answer.
func (w *writer) add(id int32) (stopped bool) {
	if w.stream == nil {
		return false
	}
	if w.parser == nil {
		return w.say(w.stream.Next(id))
	}
	tok := w.m.text.Tokenizer
	if tok.IsSpecial(id) {
		if text, _ := tok.Token(id); !w.parser.Knows(text) {
			return false
		}
	}
	return w.take(w.parser.Write(w.stream.Next(id)))
}

// flush adds what was held back at the end of an answer.
func (w *writer) flush() (stopped bool) {
	if w.stream == nil {
		return false
	}
	if w.parser == nil {
		stopped = w.say(w.stream.Flush())
	} else {
		stopped = w.take(w.parser.Write(w.stream.Flush())) || w.take(w.parser.Close())
	}
	if w.stops != nil && !stopped {
		w.put(answer.Event{Text: w.stops.Flush()})
	}
	return stopped
}

// close ends the parser of an answer that may not have ended.
func (w *writer) close() {
	if w.parser != nil {
		w.parser.Close()
	}
}

// take adds events. Stop strings are looked for in text; one does not reach past a
// thought or a call.
func (w *writer) take(events []answer.Event) (stopped bool) {
	for _, e := range events {
		if e.Text != "" {
			if w.say(e.Text) {
				return true
			}
			continue
		}
		if w.stops != nil {
			w.put(answer.Event{Text: w.stops.Flush()})
		}
		w.put(e)
	}
	return false
}

// say adds text up to a stop string.
func (w *writer) say(text string) (stopped bool) {
	if w.stops != nil {
		text, stopped = w.stops.Feed(text)
	}
	w.put(answer.Event{Text: text})
	return stopped
}

func (w *writer) put(e answer.Event) {
	if e != (answer.Event{}) {
		w.out = append(w.out, e)
	}
}

// more reports whether there is something to say.
func (w *writer) more() bool { return len(w.out) > 0 }

// fill moves to a token what it can say of what is to be said: reasoning, text and a
// part of a call, in this order.
func (w *writer) fill(t *Token) {
	n := 0
	for ; n < len(w.out); n++ {
		e := &w.out[n]
		switch {
		case e.Reasoning != "" && t.Text == "" && t.Call == nil:
			t.Reasoning += e.Reasoning
		case e.Text != "" && t.Call == nil:
			t.Text += e.Text
		case e.Call != nil && t.Call == nil:
			part := CallPart(*e.Call)
			t.Call = &part
		default:
			w.out = append(w.out[:0], w.out[n:]...)
			return
		}
	}
	w.out = w.out[:0]
}

// hit returns the stop string that ended the answer, "" if none did.
func (w *writer) hit() string {
	if w.stops == nil {
		return ""
	}
	return w.stops.Hit()
}
