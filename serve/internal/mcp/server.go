package mcp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"atenia/internal/fault"
	"atenia/serve/internal/host"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Config says which models a server offers. Host, Names and Use are required.
type Config struct {
	// Host counts calls and gives them ids, under which their decisions are found.
	Host *host.Host
	// Names returns the names of the models, the default one first. It is called for
	// each request that lists them, by any goroutine.
	Names func() []string
	// Use lends a model; "" is the default one. The caller releases it. A name that is
	// not among Names is an error.
	Use func(ctx context.Context, name string) (*host.Lease, error)
	// Loaded reports whether a model is in memory; lists show no more than the name of
	// one that is not, instead of loading it. nil = all are.
	Loaded func(name string) bool
	// State is the folder in which runs keep their accounts and what they learned;
	// "" = none, and tool explain tells what is so now.
	State   string
	Version string       // of this program
	Logger  *slog.Logger // nil = discard; prompts and answers are never logged
	Extra   Extra
}

// An Extra is what a program adds to the tools, resources and prompts of this package.
// The zero value adds nothing.
type Extra struct {
	Add       func(*sdk.Server) // is called once, by New
	Complete  func(context.Context, *sdk.CompleteRequest) (*sdk.CompleteResult, error)
	Subscribe func(context.Context, *sdk.SubscribeRequest) error
}

// Limits of requests.
const (
	maxBody     = 4 << 20 // bytes of a message: a prompt of a million tokens, or texts of an embed call
	idleSession = 10 * time.Minute
	mostEvents  = 8 << 20 // bytes of all streams that clients may resume
)

// A Server offers models to MCP clients. Its methods may be called by any goroutine.
type Server struct {
	cfg   Config
	sdk   *sdk.Server
	ended context.Context // ends the streams that wait for notifications
	end   context.CancelFunc
	store *sdk.MemoryEventStore

	mu       sync.Mutex
	stale    map[string]bool // models whose resources changed and whose subscribers were not told
	telling  bool
	notifier fault.Group
}

// New returns a server.
func New(cfg Config) *Server {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{cfg: cfg, stale: map[string]bool{}, store: sdk.NewMemoryEventStore(nil)}
	s.store.SetMaxBytes(mostEvents)
	s.ended, s.end = context.WithCancel(context.Background())
	s.sdk = sdk.NewServer(&sdk.Implementation{Name: "atenia", Title: "Atenia", Version: cfg.Version}, &sdk.ServerOptions{
		Instructions:       "Language models that run on this machine. Tool generate continues a text, or answers a question with chat set; explain and plan tell how a model runs and why.",
		CompletionHandler:  s.complete,
		SubscribeHandler:   s.subscribe,
		UnsubscribeHandler: func(context.Context, *sdk.UnsubscribeRequest) error { return nil },
	})
	s.sdk.AddReceivingMiddleware(s.guard)
	s.addTools()
	s.addResources()
	s.addPrompts()
	if cfg.Extra.Add != nil {
		cfg.Extra.Add(s.sdk)
	}
	return s
}

// Stdio serves one client over lines of JSON until r ends and what it asked for is
// answered, which is no error, or until ctx ends. Nothing but the protocol is written to w.
func (s *Server) Stdio(ctx context.Context, r io.ReadCloser, w io.WriteCloser) error {
	out := &shared{WriteCloser: w}
	err := s.sdk.Run(ctx, patient{&sdk.IOTransport{Reader: newLines(r, out), Writer: out, MaxLineLength: -1}})
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrClosedPipe):
		return nil
	}
	return err
}

// Handler serves any number of clients over streamable HTTP. Who may use it is the
// caller's to check: keys, origins, and names of the host (DNS rebinding), of
// which the SDK would refuse those that a proxy on this machine passes on.
//
// A client that says nothing for ten minutes loses its session, which the
// protocol has it begin again.
func (s *Server) Handler() http.Handler {
	h := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s.sdk }, &sdk.StreamableHTTPOptions{
		SessionTimeout: idleSession, MaxRequestBodyBytes: maxBody, PropagateRequestCancellation: true,
		DisableLocalhostProtection: true, EventStore: s.store,
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet { // a stream for notifications, which lasts until the client ends it
			ctx, cancel := context.WithCancel(r.Context())
			defer cancel()
			defer context.AfterFunc(s.ended, cancel)()
			r = r.WithContext(ctx)
		}
		h.ServeHTTP(w, r)
	})
}

// Headers by which a call is told whose request it is: they are set for every request, so no
// client can choose them.
const (
	idHeader     = "X-Request-Id"
	clientHeader = "Atenia-Client"
)

// Of says in the headers of an HTTP request which request of the host it is. A message is read
// as the bodies of other endpoints are.
func Of(r *host.Request) (*http.Request, error) {
	q := r.Request.Clone(r.Context())
	q.Header.Set(idHeader, r.ID)
	q.Header.Set(clientHeader, r.Client())
	if q.Method != http.MethodPost {
		return q, nil
	}
	body, err := r.ReadBody()
	if err == nil {
		body, err = host.Text(body)
	}
	q.Body, q.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return q, err
}

// guard counts messages, and makes a panic of a handler an error of its request.
func (s *Server) guard(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (res sdk.Result, err error) {
		err = fault.Call(func() (err error) {
			res, err = next(ctx, method, req)
			return err
		})
		if _, panicked := errors.AsType[*fault.Panic](err); panicked {
			return nil, s.tell(method, err)
		}
		return res, err
	}
}

// Close waits for notifications that are under way.
func (s *Server) Close() {
	// The lock: a change that comes meanwhile is told before the wait begins, or not at all.
	s.mu.Lock()
	s.end()
	s.mu.Unlock()
	s.notifier.Wait()
}

// Drain ends the streams of HTTP clients that wait for notifications, which would
// keep an http.Server from shutting down. Calls of tools that run go on.
func (s *Server) Drain() { s.end() }
