package atenia

// How the tokens of an answer become what is shown of it.

import (
	"math/rand/v2"

	"atenia/internal/model/text"
)

// reader returns a writer that tells text, reasoning and calls of an answer to a
// conversation apart. prompt is the conversation as the model reads it.
func (m *Model) reader(c *Conversation, prompt string) *text.Writer {
	if c.Raw {
		return m.text.Writer(c.Stop)
	}
	w := m.text.Parsed(c.Stop, schemasOf(c.Tools), prompt, newCallID)
	if c.OneCall {
		w.OneCall()
	}
	return w
}

// schemasOf returns the schemas of tools' parameters by the tools' names.
func schemasOf(tools []Tool) map[string][]byte {
	schemas := map[string][]byte{}
	for _, t := range tools {
		schemas[t.Name] = t.Parameters
	}
	return schemas
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

// fill moves to a token what it can say of what is to be said: reasoning, text and a
// part of a call, in this order. It reports whether something is left.
func (t *Token) fill(w *text.Writer) (more bool) {
	n := 0
	for _, e := range w.Pending() {
		switch {
		case e.Reasoning != "" && t.Text == "" && t.Call == nil:
			t.Reasoning += e.Reasoning
		case e.Text != "" && t.Call == nil:
			t.Text += e.Text
		case e.Call != nil && t.Call == nil:
			part := CallPart(*e.Call)
			t.Call = &part
		default:
			w.Take(n)
			return true
		}
		n++
	}
	w.Take(n)
	return false
}
