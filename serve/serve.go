package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"

	"atenia"
	"atenia/internal/fault"
	"atenia/serve/internal/dialect"
	"atenia/serve/internal/host"
	"atenia/serve/internal/mcp"

	"go.opentelemetry.io/otel/trace"
)

// A Model is one that a [Server] has.
type Model struct {
	Name string // that clients ask for; "" = the path's last part without an extension
	Path string // a .gguf file or a Hugging Face folder; "" = the embedded model
	// Adapters are LoRA adapters that clients ask for by name as they do for models.
	// They are kept beside the weights: requests for several of them and for the model
	// share batches.
	Adapters []atenia.Adapter
	// Draft is the path of a smaller model that drafts for it, see [atenia.Config]. "" =
	// that of Config.Open.
	Draft string
}

// A Config says what a [Server] serves and to whom. The zero value serves the
// embedded model to everybody who reaches it. It is copied.
type Config struct {
	// Models by name. The first also answers to the name "default". None = the
	// embedded one.
	Models []Model
	// Aliases are further names of models and adapters, each "gpt-4o,claude-*=NAME": programs ask
	// for models by names that are written into them.
	Aliases []string
	// Open is how models are opened. Open.Budget.RAM is what all of them have together:
	// each is given what the planner of placements says that it needs, models that
	// nothing uses are unloaded for others, and a model that then has no room is
	// refused with the numbers.
	Open atenia.Config
	// WholeContext lets each model have as many tokens in a sequence as it was made for, where
	// Open.Context is 0. Otherwise that is at most 32,768, and as few as 4,096 where keys and values
	// of one sequence would take more than a quarter of the memory, or weights out of Open.Budget.
	WholeContext bool
	// AdapterDir is a folder of adapters that clients may load and unload while the
	// server runs, as vLLM's do. "" = they may not.
	AdapterDir string
	// Idle is how long a model stays loaded that nothing uses. 0 = 5 minutes; less than 0
	// = for ever. The first model stays until its memory is wanted.
	Idle time.Duration
	// SlotSavePath is a folder in which clients may save slots to files and restore them:
	// POST /slots/{id}. It is made if there is none. "" = they may not.
	SlotSavePath string
	// Store is a folder in which responses and conversations are kept until clients delete
	// them, also after a restart: what was said can be read there. It is made if there is
	// none, and is for one server at a time. "" = they are kept in memory, 64 MiB of them for
	// an hour.
	Store string
	// Keys are the API keys, of at least eight characters each, one of which every
	// request must have. None = no key is wanted.
	Keys []string
	// Hosts are the names that requests may be addressed to, besides localhost and
	// addresses. "*" = any: for a server behind a proxy that checks.
	Hosts []string
	// Origins are those of the pages in browsers that may use the server, such as
	// "https://example.com", or schemes such as "vscode-webview://". "*" = any. None = no page may.
	Origins []string
	// MaxBody is the longest body of a request in bytes. 0 = 32 MiB.
	MaxBody int64
	// MaxRequests is how many requests may be under way at once, waiting ones included;
	// others are told to come again. 0 = 256.
	MaxRequests int
	// Timeout is the longest time for a request. 0 = 1 hour.
	Timeout time.Duration
	// WriteTimeout is how long a client may take to read one event of a stream. 0 = 30
	// seconds.
	WriteTimeout time.Duration
	// Ping is how long a stream may be silent before the client is sent a sign of life, so
	// that proxies do not cut long prompts off. 0 = 15 seconds; less than 0 = never.
	Ping time.Duration
	// Logger receives a line for each request. nil discards them.
	Logger *slog.Logger
	// StrictFields refuses requests with what the server leaves out otherwise, and names in a
	// header of the response: tools of the service that a client was made for.
	StrictFields bool
	// LogPrompts also logs what clients and models say. Otherwise no log and no span has
	// it.
	LogPrompts bool
	// Tracer receives spans of OpenTelemetry: of each request, its wait for a slot, its
	// prompt and its decoding. They continue the trace of the client's header
	// traceparent, or of the request's context. nil = there are none.
	Tracer trace.TracerProvider
	// MCP is what the program adds for agents at /mcp.
	MCP MCP
	// Tools are those of MCP servers that requests may have called.
	Tools Tools

	kept dialect.StoreConfig // its clock and bounds; tests have their own
}

// A Server is the handler of all endpoints, made by [New]. Its methods may be called at the same time.
type Server struct {
	host  *host.Host
	pool  *host.Pool
	mux   *http.ServeMux
	mcp   *mcp.Server
	ws    *dialect.Handler
	store *dialect.Store
	ready chan struct{} // closed when the first model was loaded, or could not be
	load  loading
	saves string // folder of slots; "" = none
}

// New reads the headers of the models, of which one has to be readable (the others are
// left out and logged), and begins to load the first one; requests wait for it, and GET
// /health says how far it is. Close the server in the end.
func New(c Config) (*Server, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	metrics := host.NewMetrics()
	s := &Server{mux: http.NewServeMux(), saves: c.SlotSavePath, ready: make(chan struct{})}
	p := host.PoolConfig{Changed: func(name string) { s.mcp.Changed(name) }, Open: c.Open, WholeContext: c.WholeContext, Aliases: c.Aliases, Idle: c.Idle, Logger: c.Logger, AdapterDir: c.AdapterDir, Loaded: metrics.Loaded}
	for _, m := range c.Models {
		p.Sources = append(p.Sources, host.Source(m))
	}
	store, err := dialect.NewStore(dialect.StoreConfig{Dir: c.Store, Bytes: c.kept.Bytes, Now: c.kept.Now})
	if err != nil {
		return nil, err
	}
	pool, err := host.NewPool(p)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	h := host.New(host.Config{
		Pool: pool, Metrics: metrics, Keys: c.Keys, Hosts: c.Hosts, Origins: c.Origins, Logger: c.Logger, Prompts: c.LogPrompts, Strict: c.StrictFields, Tracer: c.Tracer,
		Tools:  c.Tools.host(),
		Limits: host.Limits{Body: c.MaxBody, Requests: c.MaxRequests, Request: c.Timeout, Write: c.WriteTimeout, Ping: c.Ping},
	})
	metrics.Watch(h)
	s.host, s.pool, s.store = h, pool, store
	s.openAgents(&c)
	s.mount()
	s.load.start(s)
	return s, nil
}

// check returns every fault of a configuration.
func (c *Config) check() error {
	var errs []error
	for _, f := range []struct {
		name string
		v    int64
	}{{"MaxBody", c.MaxBody}, {"MaxRequests", int64(c.MaxRequests)}, {"Timeout", int64(c.Timeout)}, {"WriteTimeout", int64(c.WriteTimeout)},
		{"Tools.Calls", int64(c.Tools.Calls)}, {"Tools.Time", int64(c.Tools.Time)}, {"Tools.Bytes", int64(c.Tools.Bytes)}} {
		if f.v < 0 {
			errs = append(errs, &atenia.ConfigError{Field: f.name, Got: f.v, Want: "0 for the default, or more"})
		}
	}
	if err := c.Tools.host().Check(); err != nil {
		errs = append(errs, err)
	}
	// A model that is loaded later, or a client, would say what is wrong with a folder.
	for _, f := range []struct {
		what, dir string
		check     func(dir string) error
	}{
		{"folder of cached keys and values", c.Open.CacheDir, writable},
		{"folder of slots", c.SlotSavePath, func(dir string) error { return os.MkdirAll(dir, 0o700) }},
		{"folder of adapters", c.AdapterDir, func(dir string) error { _, err := os.ReadDir(dir); return err }},
	} {
		if f.dir == "" {
			continue
		}
		if err := f.check(f.dir); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", f.what, err))
		}
	}
	for _, k := range c.Keys {
		if len(k) < shortestKey {
			errs = append(errs, &atenia.ConfigError{Field: "Keys", Want: fmt.Sprintf("keys of at least %d characters", shortestKey)})
		}
	}
	return errors.Join(errs...)
}

// writable makes a folder if there is none, and a file in it, which it removes.
func writable(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".writable-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// shortestKey keeps an empty line of a file from being a key.
const shortestKey = 8

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, q *http.Request) { s.mux.ServeHTTP(w, q) }

// Drain makes the server refuse new requests and say so at /health/ready, and returns
// when none is under way, or with an error when ctx ends before. Call it before
// [http.Server.Shutdown], then Close.
func (s *Server) Drain(ctx context.Context) error {
	var sockets fault.Group
	s.mcp.Drain()
	var late error
	sockets.Go(func() { late = s.ws.Shutdown(ctx) })
	err := s.host.Drain(ctx)
	sockets.Wait()
	return cmp.Or(err, late)
}

// Close ends all requests, those without a client too, and unloads all models.
func (s *Server) Close() error {
	s.mcp.Close()
	s.host.Close()
	err := s.pool.Close()
	s.load.group.Wait()
	return errors.Join(err, s.store.Close())
}
