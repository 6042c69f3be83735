package host

// Requests that are messages of a connection: of a WebSocket, and of MCP.

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// Begin returns the request that a message of a longer connection makes. Client is that
// of the connection ([Request.Client]), which shares what it is given with others of
// the same key. Id is where its decisions are found; "" = a new one. End it.
func (h *Host) Begin(ctx context.Context, id, client string) *Request {
	if id == "" {
		id = h.newID()
	}
	ctx, cancel := context.WithTimeoutCause(ctx, h.limits.Request, errTimeout)
	ctx, span := h.tracer.Start(ctx, "message", trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(attribute.String("atenia.request.id", id)))
	r := &Request{Request: (&http.Request{}).WithContext(ctx), ID: id, host: h, start: time.Now(), client: client, cancel: cancel, span: span}
	r.Log = h.log.With("request", id)
	return r
}

// End counts and logs a message. Route is one of few, such as "/ws generate": it is a label of metrics.
func (r *Request) End(route string, err error) {
	defer r.cancel()
	level, status, took := slog.LevelInfo, http.StatusOK, time.Since(r.start)
	args := []any{"path", route}
	var p *Problem
	if err != nil {
		p = r.Problem(err).short()
		status = p.Status
		args = append(args, "err", Short(err.Error()))
		if status >= http.StatusInternalServerError {
			level = slog.LevelError
		}
	}
	r.span.SetName(route)
	r.endSpan(status, p)
	r.host.Metrics.request("MESSAGE "+route, status, took)
	r.Log.Log(context.WithoutCancel(r.Context()), level, "request", append(args, "status", status, "took", took)...)
}
