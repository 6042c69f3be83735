package host

// A request, and what it generates.

import (
	"iter"
	"log/slog"
	"net/http"
	"time"

	"atenia"
)

// A Request is a request with an id, which is also its response's X-Request-Id. Its
// context ends when the client goes away, and after the longest time that a request
// may take.
type Request struct {
	*http.Request
	ID  string
	Log *slog.Logger // says the request's id

	host  *Host
	w     http.ResponseWriter
	start time.Time
}

// Pool returns the models.
func (r *Request) Pool() *Pool { return r.host.Pool }

// Borrow returns a model by name; release it. A load counts towards the request's time.
func (r *Request) Borrow(name string) (*Lease, error) {
	return r.host.Pool.Borrow(r.Context(), name)
}

// Chat answers a conversation with a model, as [atenia.Model.Chat] does, and counts
// tokens and times.
func (r *Request) Chat(l *Lease, c atenia.Conversation) iter.Seq2[atenia.Token, error] {
	if r.host.prompts {
		r.Log.Info("prompt", "messages", c.Messages)
	}
	return r.count(l, l.Model.Chat(r.Context(), c))
}

// Generate continues a prompt, as [atenia.Model.Generate] does, and counts tokens
// and times.
func (r *Request) Generate(l *Lease, p atenia.Prompt) iter.Seq2[atenia.Token, error] {
	if r.host.prompts {
		r.Log.Info("prompt", "text", p.Text)
	}
	return r.count(l, l.Model.Generate(r.Context(), p))
}

func (r *Request) count(l *Lease, tokens iter.Seq2[atenia.Token, error]) iter.Seq2[atenia.Token, error] {
	return func(yield func(atenia.Token, error) bool) {
		m := r.host.Metrics
		m.generating.Inc()
		defer m.generating.Dec()
		last, n := r.start, 0
		for t, err := range tokens {
			if err != nil {
				l.check(err)
				yield(t, err)
				return
			}
			if t.Finish == "" {
				now := time.Now()
				m.token(l.Info.Name, n == 0, now.Sub(last))
				last = now
				n++
			}
			if r.host.prompts && t.Text != "" {
				r.Log.Info("answer", "text", t.Text)
			}
			if !yield(t, nil) {
				return
			}
		}
	}
}
