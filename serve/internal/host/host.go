package host

// What stands around every route.

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"atenia/internal/fault"
	"atenia/internal/spelling"

	"go.opentelemetry.io/otel/trace"
)

// Limits bound what clients can take. A zero field is its default.
type Limits struct {
	Body     int64         // bytes of a request. 0 = 32 MiB
	Read     time.Duration // for a whole body. 0 = 1 minute
	Write    time.Duration // for a client to take one event. 0 = 30 seconds
	Ping     time.Duration // of silence in a stream, then there is a sign of life. 0 = 15 seconds; less = never
	Request  time.Duration // for a whole request. 0 = 1 hour
	Requests int           // at a time; further ones are refused with 429. 0 = 256
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Body: cmp.Or(l.Body, 32<<20), Read: cmp.Or(l.Read, time.Minute), Write: cmp.Or(l.Write, 30*time.Second),
		Ping: cmp.Or(l.Ping, 15*time.Second), Request: cmp.Or(l.Request, time.Hour), Requests: cmp.Or(l.Requests, 256),
	}
}

// A Config is what a [Host] is made of. The zero value has no models.
type Config struct {
	Pool    *Pool
	Keys    []string // one of them is wanted; none = no key is
	Hosts   []string // further names that requests may be addressed to; "*" = any
	Origins []string // of pages that may use the server; "*" = any
	Limits  Limits
	Tools   Tools
	Logger  *slog.Logger         // nil = discard
	Metrics *Metrics             // nil = new ones
	Prompts bool                 // prompts and answers are logged, and said in spans
	Strict  bool                 // what is left out of a request is refused instead
	Tracer  trace.TracerProvider // nil = there are no spans
}

// A Host has what routes share.
type Host struct {
	Pool    *Pool
	Metrics *Metrics

	keys     [][sha256.Size]byte
	names    []string
	origins  []string
	limits   Limits
	tools    Tools
	desk     *desk
	tickets  tickets
	calls    toolLog
	log      *slog.Logger
	tracer   trace.Tracer
	prompts  bool
	strict   bool
	running  atomic.Int64 // requests under way
	busy     atomic.Int64 // of them those that count for the limit: not those whose body is still coming
	held     atomic.Int64 // bytes of bodies that are still coming
	serial   atomic.Uint64
	draining atomic.Bool
	detached detached
}

// New returns a host.
func New(c Config) *Host {
	h := &Host{
		Pool: c.Pool, Metrics: cmp.Or(c.Metrics, NewMetrics()), names: c.Hosts, origins: c.Origins,
		limits: c.Limits.withDefaults(), tools: c.Tools.withDefaults(), desk: newDesk(), log: cmp.Or(c.Logger, slog.New(slog.DiscardHandler)), prompts: c.Prompts, strict: c.Strict, tracer: newTracer(c.Tracer),
	}
	for _, k := range c.Keys {
		h.keys = append(h.keys, sha256.Sum256([]byte(k)))
	}
	return h
}

// A Route is one endpoint.
type Route struct {
	Pattern string // of [http.ServeMux], such as "POST /v1/messages"
	Serve   func(w http.ResponseWriter, r *Request) error
	Fail    func(r *Request, p *Problem) // writes a problem; nil = {"error": "…"}
	Public  bool                         // no key is wanted, and it answers while draining and when busy
	Ticket  bool                         // a ticket in the query stands for a key
}

// Mount adds routes to a mux.
func (h *Host) Mount(mux *http.ServeMux, routes []Route) {
	for _, r := range routes {
		mux.Handle(r.Pattern, h.Handler(r))
	}
}

// Handler returns a route with all that stands around it.
func (h *Host) Handler(route Route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		t := &tracked{ResponseWriter: w}
		ctx, cancel := context.WithTimeoutCause(q.Context(), h.limits.Request, errTimeout)
		defer cancel()
		id := h.newID()
		ctx, span := h.startSpan(ctx, q, &route, id)
		r := &Request{Request: q.WithContext(ctx), ID: id, host: h, w: t, start: time.Now(), cancel: cancel, span: span}
		r.Log = h.log.With("request", r.ID)
		r.body = newBody(w, q, &h.limits)
		r.Body = r.body
		if c := span.SpanContext(); c.IsValid() {
			r.Log = r.Log.With("trace", c.TraceID())
		}
		t.Header().Set("X-Request-Id", r.ID)
		t.Header().Set("Request-Id", r.ID) // Anthropic's clients
		t.Header().Set("X-Content-Type-Options", "nosniff")
		err := h.admit(r, &route)
		if err == nil {
			err = fault.Call(func() error { return route.Serve(t, r) })
		}
		if r.out != nil {
			r.out.end()
		}
		if !route.Public {
			if !r.passed {
				h.busy.Add(-1)
			}
			defer h.running.Add(-1)
		}
		h.finish(r, &route, t, err)
	})
}

// finish writes an error, as the response or as the end of a stream that has begun, counts
// and logs.
func (h *Host) finish(r *Request, route *Route, t *tracked, err error) {
	level, status := slog.LevelInfo, t.status
	args := []any{"method", r.Method, "path", Short(r.URL.Path)}
	var p *Problem
	if err != nil {
		p = r.Problem(err).short()
		status = p.Status
		args = append(args, "err", Short(cmp.Or(p.Err, error(p)).Error()))
		if b, ok := errors.AsType[*fault.Panic](err); ok {
			args = append(args, "stack", string(b.Stack))
		}
		if status >= http.StatusInternalServerError {
			level = slog.LevelError
		}
		if t.status == 0 {
			r.body.within(min(restTime, h.limits.Read))
		}
		fail(r, route, t, p)
	}
	r.endSpan(status, p)
	took := time.Since(r.start)
	h.Metrics.request(route.Pattern, status, took)
	if route.Public && err == nil {
		return // probes ask every few seconds
	}
	r.Log.Log(context.WithoutCancel(r.Context()), level, "request", append(args, "status", status, "took", took)...)
}

func fail(r *Request, route *Route, t *tracked, p *Problem) {
	if p.Status >= http.StatusInternalServerError && p.Retry == 0 {
		p.Message += " (request " + r.ID + ")"
	}
	if t.status != 0 {
		if r.out != nil && r.out.manner.Fail != nil {
			_ = r.out.manner.Fail(p) // the client is gone if it fails
		}
		return
	}
	if p.Retry > 0 {
		r.w.Header().Set("Retry-After", fmt.Sprint(int(p.Retry.Seconds()+0.5)))
	}
	if route.Fail != nil {
		route.Fail(r, p)
	} else {
		r.failPlain(p)
	}
}

// failPlain writes a problem as {"error": "…"}.
func (r *Request) failPlain(p *Problem) {
	_ = r.WriteJSON(p.Status, map[string]string{"error": p.Message}) // the client is gone if it fails
}

// admit checks who asks, and whether there is room for the request.
func (h *Host) admit(r *Request, route *Route) error {
	busy := int64(0)
	if !route.Public {
		h.running.Add(1)
		busy = h.busy.Add(1)
	}
	if err := h.checkSite(r); err != nil {
		return err
	}
	if route.Public {
		return nil
	}
	switch {
	case !h.hasKey(r) && !(route.Ticket && h.hasTicket(r)):
		r.w.Header().Set("WWW-Authenticate", "Bearer")
		return &Problem{Status: http.StatusUnauthorized, Code: "invalid_api_key", Message: "A valid API key is needed: Authorization: Bearer KEY."}
	case h.draining.Load():
		return &Problem{Status: http.StatusServiceUnavailable, Code: "shutting_down", Message: "The server is shutting down.", Retry: 5 * time.Second}
	case busy > int64(h.limits.Requests):
		return h.tooMany()
	}
	return nil
}

func (h *Host) tooMany() *Problem {
	return &Problem{
		Status: http.StatusTooManyRequests, Code: "too_many_requests", Retry: time.Second,
		Message: fmt.Sprintf("%d requests are under way, the server's limit. Try again in a second.", h.limits.Requests),
	}
}

// hasKey compares the hash of a request's key in constant time with those of all keys,
// and says whose the request is.
func (h *Host) hasKey(r *Request) bool {
	if len(h.keys) == 0 {
		return true
	}
	sum, found := sha256.Sum256([]byte(keyOf(r.Request))), 0
	for i := range h.keys {
		found |= subtle.ConstantTimeCompare(sum[:], h.keys[i][:])
	}
	r.client = string(sum[:])
	return found == 1
}

// hasTicket takes the ticket that a request has, and says whose the request is.
func (h *Host) hasTicket(r *Request) (ok bool) {
	r.client, ok = h.tickets.take(r.URL.Query().Get("ticket"))
	return ok
}

// keyOf returns the key that a request has, "" if it has none.
func keyOf(q *http.Request) string {
	if scheme, token, ok := strings.Cut(q.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(token)
	}
	return q.Header.Get("X-Api-Key") // Anthropic's clients
}

// checkSite refuses what a page in a browser sends without being allowed to: a request
// that is addressed to another name than the server's (DNS rebinding), or that
// comes from a page of another origin.
func (h *Host) checkSite(r *Request) error {
	if nameless := r.Host == "" && !r.ProtoAtLeast(1, 1); !nameless && !h.knows(r.Host) { // no browser is so old
		return &Problem{Status: http.StatusForbidden, Code: "unknown_host", Message: spelling.Sprintf("The server does not answer to the name %q: allow it with --allow-host.", r.Host)}
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		// A browser says so of what a page of another site asks for without reading it, such as an
		// image; a link that is followed is not of these.
		if r.Header.Get("Sec-Fetch-Site") == "cross-site" && !(r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate") && !slices.Contains(h.origins, "*") {
			return &Problem{Status: http.StatusForbidden, Code: "unknown_origin", Message: "Pages of other sites may not use this server: allow their origin with --cors."}
		}
		return nil
	}
	if slices.ContainsFunc(h.origins, func(o string) bool {
		return o == "*" || o == origin || strings.HasSuffix(o, "://") && strings.HasPrefix(origin, o)
	}) {
		r.w.Header().Set("Access-Control-Allow-Origin", origin)
		r.w.Header().Add("Vary", "Origin")
		r.w.Header().Set("Access-Control-Expose-Headers", "X-Request-Id, Retry-After, "+unsupportedTools)
		return nil
	}
	if u, err := url.Parse(origin); err == nil && u.Host == r.Host { // the server's own page
		return nil
	}
	return &Problem{Status: http.StatusForbidden, Code: "unknown_origin", Message: spelling.Sprintf("Pages of %q may not use this server: allow them with --cors %s.", origin, allowing(origin))}
}

// allowing returns what allows an origin: its scheme if that is of an editor or another program
// whose pages have origins of their own, which may change with each start.
func allowing(origin string) string {
	if scheme, _, ok := strings.Cut(origin, "://"); ok && scheme != "http" && scheme != "https" {
		return scheme + "://"
	}
	return origin
}

// knows reports whether a name is the server's: an address, localhost, or one that was
// allowed. An address cannot be rebound.
func (h *Host) knows(host string) bool {
	name := host
	if n, _, err := net.SplitHostPort(host); err == nil {
		name = n
	}
	name = strings.TrimSuffix(strings.ToLower(strings.Trim(name, "[]")), ".")
	if name == "localhost" || net.ParseIP(name) != nil {
		return true
	}
	return slices.ContainsFunc(h.names, func(s string) bool { return s == "*" || strings.EqualFold(s, name) })
}

// Preflight answers the question of a browser whether a page may send a request.
func (h *Host) Preflight(w http.ResponseWriter, r *Request) error {
	head := w.Header()
	head.Set("Access-Control-Allow-Methods", "GET, POST, DELETE, OPTIONS")
	allowed := "Authorization, Content-Type, X-Api-Key, Anthropic-Version, Mcp-Session-Id, Mcp-Protocol-Version, Last-Event-Id"
	for name := range strings.SplitSeq(r.Header.Get("Access-Control-Request-Headers"), ",") {
		// OpenAI's and Anthropic's libraries tell by these what they run on and want.
		name = strings.TrimSpace(name)
		if vendor, _, _ := strings.Cut(strings.TrimPrefix(strings.ToLower(name), "x-"), "-"); slices.Contains([]string{"stainless", "anthropic", "openai", "mcp"}, vendor) {
			allowed += ", " + name
		}
	}
	head.Set("Access-Control-Allow-Headers", allowed)
	head.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// Drain makes the host refuse new requests and waits until none runs, or ctx ends.
func (h *Host) Drain(ctx context.Context) error {
	h.draining.Store(true)
	for tick := time.NewTicker(10 * time.Millisecond); ; {
		if h.running.Load() == 0 {
			tick.Stop()
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			tick.Stop()
			return fmt.Errorf("%d requests still ran: %w", h.running.Load(), context.Cause(ctx))
		}
	}
}

// Draining reports whether new requests are refused.
func (h *Host) Draining() bool { return h.draining.Load() }

// Running returns how many requests are under way.
func (h *Host) Running() int { return int(h.running.Load()) }

// newID returns an id that neither this nor another run of the program has.
func (h *Host) newID() string {
	return fmt.Sprintf("req-%x-%d", started.UnixMilli()&0xffffffff, h.serial.Add(1))
}

// tracked remembers whether a response has begun.
type tracked struct {
	http.ResponseWriter
	status int
}

func (t *tracked) WriteHeader(status int) {
	if t.status == 0 || t.status < 200 {
		t.status = status
	}
	t.ResponseWriter.WriteHeader(status)
}

func (t *tracked) Write(b []byte) (int, error) {
	if t.status == 0 {
		t.status = http.StatusOK
	}
	return t.ResponseWriter.Write(b)
}

// Unwrap lets [http.ResponseController] find the connection.
func (t *tracked) Unwrap() http.ResponseWriter { return t.ResponseWriter }
