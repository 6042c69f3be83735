package mcp

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"time"

	"atenia"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Config says which models a server offers. Names and Use are required.
type Config struct {
	// Names returns the names of the models, the default one first. It is called for
	// each request that lists them, by any goroutine.
	Names func() []string
	// Use lends a model; "" is the default one. The caller calls done once, when it
	// no longer uses the model. A name that is not among Names is an error.
	Use func(ctx context.Context, name string) (m *atenia.Model, done func(), err error)
	// Loaded reports whether a model is in memory; lists show no more than the name of
	// one that is not, instead of loading it. nil = all are.
	Loaded func(name string) bool
	// State is the folder in which runs keep their accounts and what they learned;
	// "" = none, and tool explain tells what is so now.
	State   string
	Version string       // of this program
	Logger  *slog.Logger // nil = discard; prompts and answers are never logged
}

// Limits of requests.
const (
	maxBody     = 4 << 20 // bytes of a message: a prompt of a million tokens, or texts of an embed call
	idleSession = 10 * time.Minute
)

// A Server offers models to MCP clients. Its methods may be called by any goroutine.
type Server struct {
	cfg   Config
	sdk   *sdk.Server
	ended context.Context // ends the streams that wait for notifications
	end   context.CancelFunc
}

// New returns a server.
func New(cfg Config) *Server {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{cfg: cfg}
	s.ended, s.end = context.WithCancel(context.Background())
	s.sdk = sdk.NewServer(&sdk.Implementation{Name: "atenia", Title: "Atenia", Version: cfg.Version}, &sdk.ServerOptions{
		Instructions: "Language models that run on this machine. Tool generate continues a text, or answers a question with chat set; explain and plan tell how a model runs and why.",
		Capabilities: &sdk.ServerCapabilities{}, // of tools and resources they are inferred; nothing is logged to clients
	})
	s.addTools()
	s.addResources()
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
		DisableLocalhostProtection: true,
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

// Drain ends the streams of HTTP clients that wait for notifications, which would
// keep an http.Server from shutting down. Calls of tools that run go on.
func (s *Server) Drain() { s.end() }
