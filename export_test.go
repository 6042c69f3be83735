package atenia

import (
	"context"
	"time"

	"atenia/internal/text/chat"
)

// SetLimit sets what a model finds when it asks, before every step, how much
// memory the process may have.
func (c *Config) SetLimit(f func() int64) {
	c.limit = func() (int64, bool) { return f(), false }
}

// SetDelay sets what a model finds when it asks how long threads waited for processors.
func (c *Config) SetDelay(f func() time.Duration) {
	c.delay = func() (time.Duration, bool) { return f(), true }
}

// RenderTemplate renders a conversation by a template, as Render does by a model's.
func (c *Conversation) RenderTemplate(source string, vars map[string]string) (string, error) {
	t, err := chat.Parse("template", source)
	if err != nil {
		return "", err
	}
	r, err := c.render(context.Background(), t, vars, chat.NewControl([]string{"<[>"})) // text is the same with and without tracing
	return r.Text, err
}

// ReadAnswer returns the tokens that Chat yields for an answer of given ids.
func (m *Model) ReadAnswer(c Conversation, prompt string, ids []int32) []Token {
	w := m.reader(&c, prompt)
	defer w.Close()
	var all []Token
	for _, id := range ids {
		stopped := w.Add(id)
		t := Token{ID: id}
		t.fill(w)
		all = append(all, t)
		if stopped {
			return append(all, Token{Finish: "stop", Stop: w.Hit(), Usage: &Usage{}})
		}
	}
	w.Flush()
	for more := true; more; {
		t := Token{}
		more = t.fill(w)
		all = append(all, t)
	}
	return append(all, Token{Finish: "stop", Usage: &Usage{}})
}

// Gather puts tokens together as Reply does.
func Gather(tokens []Token) (*Answer, error) {
	return gather(func(yield func(Token, error) bool) {
		for _, t := range tokens {
			if !yield(t, nil) {
				return
			}
		}
	}, false)
}
