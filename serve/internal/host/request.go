package host

// A request, and what it generates.

import (
	"context"
	"crypto/sha256"
	"errors"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"time"

	"atenia"
	"atenia/internal/fault"
)

// A Request is a request with an id, which is also its response's X-Request-Id. Its
// context ends when the client goes away, and after the longest time that a request
// may take.
type Request struct {
	*http.Request
	ID  string
	Log *slog.Logger // says the request's id

	host   *Host
	w      http.ResponseWriter
	start  time.Time
	caller string             // of a message: who is behind its connection
	cancel context.CancelFunc // of a message
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
	return r.ChatWithin(r.Context(), l, c)
}

// CountTokens returns the length of a conversation, as [atenia.Model.CountTokens] does.
// Its errors are those of Chat.
func (r *Request) CountTokens(l *Lease, c atenia.Conversation) (int, error) {
	n, err := l.Model.CountTokens(r.Context(), c)
	if err != nil {
		err = blame(&c, err)
	}
	return n, err
}

// ChatWithin is Chat with another context, one of several answers.
func (r *Request) ChatWithin(ctx context.Context, l *Lease, c atenia.Conversation) iter.Seq2[atenia.Token, error] {
	if r.host.prompts {
		r.Log.Info("prompt", "messages", c.Messages)
	}
	r.sign(&c.Options)
	return r.count(l, func(yield func(atenia.Token, error) bool) {
		begun := false
		for t, err := range l.Model.Chat(ctx, c) {
			if err != nil && !begun {
				err = blame(&c, err)
			}
			begun = true
			if !yield(t, err) {
				return
			}
		}
	})
}

// sign says in options whose request it is: decisions are found by its id, and requests
// with one key, or without keys from one address, share what they are given.
func (r *Request) sign(o *atenia.Options) {
	o.ID, o.Client = r.ID, r.Client()
}

// Client is what requests of one client have in common.
func (r *Request) Client() string {
	if r.caller != "" {
		return r.caller
	}
	if len(r.host.keys) > 0 {
		sum := sha256.Sum256([]byte(keyOf(r.Request)))
		return string(sum[:])
	}
	if name, _, _ := net.SplitHostPort(r.RemoteAddr); name != "" {
		return name
	}
	return r.RemoteAddr
}

// blame makes errors of a conversation with images the client's, if nothing else is known
// of them: the images cannot be read.
func blame(c *atenia.Conversation, err error) error {
	if _, panicked := errors.AsType[*fault.Panic](err); panicked || ProblemOf(err).Status != http.StatusInternalServerError {
		return err
	}
	for i := range c.Messages {
		for _, p := range c.Messages[i].Parts {
			if p.Image != nil || p.Video != nil {
				return Invalid("messages", "%v", err)
			}
		}
	}
	return err
}

// Generate continues a prompt, as [atenia.Model.Generate] does, and counts tokens and
// times.
func (r *Request) Generate(l *Lease, p atenia.Prompt) iter.Seq2[atenia.Token, error] {
	return r.GenerateWithin(r.Context(), l, p)
}

// GenerateWithin is Generate with another context, one of several answers.
func (r *Request) GenerateWithin(ctx context.Context, l *Lease, p atenia.Prompt) iter.Seq2[atenia.Token, error] {
	if r.host.prompts {
		r.Log.Info("prompt", "text", p.Text)
	}
	r.sign(&p.Options)
	return r.count(l, l.Model.Generate(ctx, p))
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
			} else if t.Usage != nil {
				m.prompt(l.Info.Name, t.Usage)
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
