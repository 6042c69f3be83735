package host

// A request, and what it generates.

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"atenia"
	"atenia/internal/fault"

	"go.opentelemetry.io/otel/trace"
)

// A Request is a request with an id, which is also its response's X-Request-Id. Its
// context ends when the client goes away, and after the longest time that a request
// may take.
type Request struct {
	*http.Request
	ID  string
	Log *slog.Logger // says the request's id
	// Said is what the body was decoded to, by which errors are told with the client's names.
	Said any

	host   *Host
	w      http.ResponseWriter
	body   *body
	start  time.Time
	cancel context.CancelFunc
	out    *stream // that the response is; nil = none yet
	client string  // hash of its key, or who is behind a connection; "" = its address
	span   trace.Span
	asks   atomic.Int64 // answers so far
	passed bool         // what it began counts for the limit in its place
}

// Pool returns the models.
func (r *Request) Pool() *Pool { return r.host.Pool }

// Borrow returns a model by name; release it. A load counts towards the request's time.
func (r *Request) Borrow(name string) (*Lease, error) {
	borrow := func() (*Lease, error) { return r.host.Pool.Borrow(r.Context(), name) }
	if i, err := r.host.Pool.Lookup(name); err == nil && !i.Loaded && r.span.IsRecording() {
		return spanned(r, "load "+i.Name, borrow)
	}
	return borrow()
}

// Embed makes vectors of texts, as [atenia.Model.Embed] does.
func (r *Request) Embed(l *Lease, texts []string, o atenia.EmbedOptions) ([][]float32, error) {
	embed := func() ([][]float32, error) { return l.Model.Embed(r.Context(), texts, o) }
	return spanned(r, "embeddings "+l.Info.Name, embed, modelAttributes("embeddings", l)...)
}

// Pooling returns how a model makes vectors if a request wants it as said: a model that
// was opened to generate text pools its last hidden states by their mean unless the
// request says otherwise, as Ollama's engine does.
func Pooling(m *atenia.Model, said string) string {
	if _, encoder := m.Encoding(); !encoder && said == "" {
		return "mean"
	}
	return said
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

// Check returns the error with which Chat would refuse a conversation, and its length.
func (r *Request) Check(l *Lease, c atenia.Conversation) (int, error) {
	c.Adapter = cmp.Or(c.Adapter, l.adapter)
	n, err := l.Model.Check(r.Context(), c)
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
	r.sign(l, &c.Options)
	return r.traced(ctx, l, asked{"chat", &c.Options, c.Messages}, r.count(l, func(yield func(atenia.Token, error) bool) {
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
	}))
}

// sign says in options whose request it is, and with which adapter: decisions are
// found by its id, with a number for each further answer, and requests
// with one key, or without keys from one address, share what they are given.
func (r *Request) sign(l *Lease, o *atenia.Options) {
	o.ID, o.Client = r.ID, r.Client()
	o.Adapter = cmp.Or(o.Adapter, l.adapter)
	if n := r.asks.Add(1); n > 1 {
		o.ID += "." + strconv.FormatInt(n, 10)
	}
}

// Client is what requests of one client have in common.
func (r *Request) Client() string {
	if r.client != "" {
		return r.client
	}
	if name, _, _ := net.SplitHostPort(r.RemoteAddr); name != "" {
		return name
	}
	return r.RemoteAddr
}

// blame makes errors of a conversation with images the client's, if nothing else is known
// of them: the images cannot be read.
func blame(c *atenia.Conversation, err error) error {
	if _, panicked := errors.AsType[*fault.Panic](err); panicked || problemIn(err, nil).Status != http.StatusInternalServerError {
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
	r.sign(l, &p.Options)
	said := []atenia.Message{{Role: "user", Content: p.Text}}
	return r.traced(ctx, l, asked{"text_completion", &p.Options, said}, r.count(l, l.Model.Generate(ctx, p)))
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
