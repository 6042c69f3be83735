package host

// Work that goes on without the client that began it.

import (
	"context"
	"net/http"
	"sync"
	"time"

	"atenia/internal/fault"

	"go.opentelemetry.io/otel/trace"
)

// detached are requests that no client waits for.
type detached struct {
	group fault.Group
	mu    sync.Mutex // of what follows
	ends  map[*Request]context.CancelCauseFunc
	ended bool // further ones are refused
}

// Detach calls f in a goroutine with a request of its own, which has r's id and client and
// does not end with it: it has the time of a whole request, counts for [Host.Drain] and, in r's
// place, for the limit, and ends with [Host.Close]. It is called once for a request. Cancel ends it before, with a cause
// that its context then has. Route is a label of metrics.
func (r *Request) Detach(route string, f func(q *Request) error) (cancel context.CancelCauseFunc, err error) {
	h, d := r.host, &r.host.detached
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended {
		return nil, errClosing
	}
	r.passed = true
	h.running.Add(1)
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(r.Context()))
	ctx, stop := context.WithTimeoutCause(ctx, h.limits.Request, errTimeout)
	ctx, span := h.tracer.Start(ctx, "message", trace.WithSpanKind(trace.SpanKindServer))
	q := &Request{Request: (&http.Request{}).WithContext(ctx), ID: r.ID, Log: r.Log, Said: r.Said, host: h, start: time.Now(), client: r.Client(), cancel: stop, span: span}
	if d.ends == nil {
		d.ends = map[*Request]context.CancelCauseFunc{}
	}
	d.ends[q] = cancel
	d.group.Go(func() {
		err := fault.Call(func() error { return f(q) })
		d.mu.Lock()
		delete(d.ends, q)
		d.mu.Unlock()
		h.busy.Add(-1)
		q.End(route, err)
		cancel(nil)
		h.running.Add(-1)
	})
	return cancel, nil
}

// errClosing says why what was detached ends.
var errClosing = &Problem{Status: http.StatusServiceUnavailable, Code: "shutting_down", Message: "The server ended while it computed this."}

// Close ends what was detached and waits for it.
func (h *Host) Close() {
	d := &h.detached
	d.mu.Lock()
	d.ended = true
	for _, cancel := range d.ends {
		cancel(errClosing)
	}
	d.mu.Unlock()
	d.group.Wait()
}
