package host

// Spans of requests, for OpenTelemetry. Names and attributes are those of its semantic
// conventions for HTTP servers and for generative AI.

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"time"

	"atenia"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// tracerName is the scope of all spans.
const tracerName = "atenia/serve"

func newTracer(p trace.TracerProvider) trace.Tracer {
	if p == nil {
		p = noop.NewTracerProvider()
	}
	return p.Tracer(tracerName)
}

// startSpan begins the span of a request, in the trace of the program that the server is
// mounted in, or else in the client's (W3C's header traceparent). Routes that probes ask
// have none.
func (h *Host) startSpan(ctx context.Context, q *http.Request, route *Route, id string) (context.Context, trace.Span) {
	if route.Public {
		return ctx, noop.Span{}
	}
	if !trace.SpanContextFromContext(ctx).IsValid() {
		ctx = propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier(q.Header))
	}
	_, path, _ := strings.Cut(route.Pattern, " ")
	return h.tracer.Start(ctx, route.Pattern, trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(
		attribute.String("http.request.method", q.Method), attribute.String("http.route", path), attribute.String("url.path", q.URL.Path),
		attribute.String("user_agent.original", q.UserAgent()), attribute.String("atenia.request.id", id),
	))
}

// endSpan ends the span of a request that had this status, and p if it failed.
func (r *Request) endSpan(status int, p *Problem) {
	if status == 0 {
		status = http.StatusOK
	}
	r.span.SetAttributes(attribute.Int("http.response.status_code", status))
	if p != nil {
		blameSpan(r.span, p)
	}
	r.span.End()
}

// blameSpan says of a span what went wrong. Only what is the server's fault is an error of a server's
// span.
func blameSpan(span trace.Span, p *Problem) {
	kind := p.Code
	if kind == "" {
		kind = strconv.Itoa(p.Status)
	}
	span.SetAttributes(attribute.String("error.type", kind))
	if p.Status >= http.StatusInternalServerError {
		span.SetStatus(codes.Error, kind) // the message may quote what the client said
	}
}

// spanned returns f's result, with a span around it.
func spanned[T any](r *Request, name string, f func() (T, error), about ...attribute.KeyValue) (T, error) {
	_, span := r.host.tracer.Start(r.Context(), name, trace.WithAttributes(about...))
	defer span.End()
	v, err := f()
	if err != nil {
		blameSpan(span, problemIn(err, nil))
	}
	return v, err
}

// An asked is what the span of an answer says.
type asked struct {
	operation string // gen_ai.operation.name: "chat" or "text_completion"
	options   *atenia.Options
	messages  []atenia.Message // said in the span if prompts are logged
}

// traced yields tokens, with a span around them that has three parts: the wait for a slot,
// the prompt, and the tokens after the first. When each began is what the scheduler decided and
// when.
func (r *Request) traced(ctx context.Context, l *Lease, a asked, tokens iter.Seq2[atenia.Token, error]) iter.Seq2[atenia.Token, error] {
	if !r.span.IsRecording() {
		return tokens
	}
	return func(yield func(atenia.Token, error) bool) {
		begun := time.Now()
		ctx, span := r.host.tracer.Start(ctx, a.operation+" "+l.Info.Name, trace.WithTimestamp(begun), trace.WithAttributes(a.attributes(l)...))
		t := &answerTrace{r: r, span: span, ctx: ctx, begun: begun}
		defer func() { t.end(l.Model.Why(a.options.ID)) }()
		if r.host.prompts {
			span.SetAttributes(attribute.String("gen_ai.input.messages", spokenJSON(a.messages)))
		}
		for tok, err := range tokens {
			t.take(&tok, err)
			if !yield(tok, err) {
				return
			}
		}
	}
}

func (a *asked) attributes(l *Lease) []attribute.KeyValue {
	out := append(modelAttributes(a.operation, l), attribute.Int("gen_ai.request.max_tokens", a.options.MaxTokens))
	s := &a.options.Sampling
	for _, f := range []struct {
		key string
		v   float32
	}{{"temperature", s.Temperature}, {"top_p", s.TopP}, {"frequency_penalty", s.FrequencyPenalty}, {"presence_penalty", s.PresencePenalty}} {
		out = append(out, attribute.Float64("gen_ai.request."+f.key, float64(f.v)))
	}
	out = append(out, attribute.Int("gen_ai.request.top_k", s.TopK), attribute.Int64("gen_ai.request.seed", int64(s.Seed)))
	if a.options.Schema != nil {
		out = append(out, attribute.String("gen_ai.output.type", "json"))
	}
	return out
}

func modelAttributes(operation string, l *Lease) []attribute.KeyValue {
	return []attribute.KeyValue{
		attribute.String("gen_ai.operation.name", operation), attribute.String("gen_ai.provider.name", "atenia"),
		attribute.String("gen_ai.request.model", l.Info.Name), attribute.String("gen_ai.response.model", l.Info.Name),
	}
}

// An answerTrace is the span of an answer under way.
type answerTrace struct {
	r            *Request
	span         trace.Span
	ctx          context.Context
	begun, first time.Time // first: of the first token
	ended        bool
	text         strings.Builder // if prompts are logged
}

func (t *answerTrace) take(tok *atenia.Token, err error) {
	if t.first.IsZero() && err == nil {
		t.first = time.Now()
	}
	if t.r.host.prompts {
		t.text.WriteString(tok.Text)
	}
	switch u := tok.Usage; {
	case err != nil:
		t.ended = true
		blameSpan(t.span, problemIn(err, nil))
	case tok.Finish != "":
		t.ended = true
		t.span.SetAttributes(attribute.StringSlice("gen_ai.response.finish_reasons", []string{tok.Finish}))
		if u != nil {
			t.span.SetAttributes(
				attribute.Int("gen_ai.usage.input_tokens", u.Prompt), attribute.Int("gen_ai.usage.output_tokens", u.Answer),
				attribute.Int("gen_ai.usage.cache_read.input_tokens", u.Cached),
			)
		}
	}
}

// end ends the span and makes its parts.
func (t *answerTrace) end(why []atenia.Decision) {
	now := time.Now()
	if !t.ended { // whoever reads the tokens left
		t.span.SetAttributes(attribute.StringSlice("gen_ai.response.finish_reasons", []string{"cancel"}))
	}
	if t.r.host.prompts {
		t.span.SetAttributes(attribute.String("gen_ai.output.messages", spokenJSON([]atenia.Message{{Role: "assistant", Content: t.text.String()}})))
	}
	for _, d := range why {
		t.span.AddEvent(d.Action, trace.WithTimestamp(d.Time), trace.WithAttributes(
			attribute.String("atenia.rule", d.Rule), attribute.String("atenia.because", d.Because), attribute.Int("atenia.slot", d.Slot),
		))
	}
	ends := []time.Time{now, now, now} // of the wait, the prompt, the decoding
	parts := 1
	for _, d := range why {
		if d.Action == "admit" {
			ends[0], parts = d.Time, 2
			break
		}
	}
	if !t.first.IsZero() {
		if parts == 1 {
			ends[0] = t.begun // the decision is no longer kept
		}
		ends[1], parts = t.first, 3
	}
	from := t.begun
	for i, name := range []string{"queue", "prompt", "decode"}[:parts] {
		_, part := t.r.host.tracer.Start(t.ctx, name, trace.WithTimestamp(from))
		part.End(trace.WithTimestamp(ends[i]))
		from = ends[i]
	}
	t.span.End(trace.WithTimestamp(now))
}

// spokenJSON returns messages in the conventions' form.
func spokenJSON(list []atenia.Message) string {
	type part struct {
		Type    string `json:"type"`
		Content string `json:"content"`
	}
	type message struct {
		Role  string `json:"role"`
		Parts []part `json:"parts"`
	}
	out := []message{}
	for i := range list {
		m := message{Role: list[i].Role, Parts: []part{}}
		if list[i].Content != "" {
			m.Parts = append(m.Parts, part{"text", list[i].Content})
		}
		for _, p := range list[i].Parts {
			if p.Text != "" {
				m.Parts = append(m.Parts, part{"text", p.Text})
			}
		}
		out = append(out, m)
	}
	b, _ := json.Marshal(out) // of strings alone
	return string(b)
}
