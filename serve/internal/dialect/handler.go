package dialect

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"atenia/internal/fault"
	"atenia/serve/internal/host"

	"github.com/coder/websocket"
)

// A Config says which models a handler offers and within which limits. Host and Use are
// required.
type Config struct {
	// Host counts requests and gives them ids, under which their decisions are found.
	Host *host.Host
	// Use lends a model; "" is the default one. The caller releases it.
	Use func(ctx context.Context, name string) (*host.Lease, error)
	// Origins are patterns of hosts, as of path.Match, whose pages may connect beside
	// those of the server's own host.
	Origins []string
	Message int64         // bytes that a message may have; 0 = 1 MiB
	AtOnce  int           // requests of one connection that may run at once; 0 = 16
	Write   time.Duration // in which a client must take a message; 0 = 30 s
	Ping    time.Duration // between pings; a client that does not answer until the next one is gone; 0 = 30 s
	Logger  *slog.Logger  // nil = discard; prompts and answers are never logged
}

// A Handler streams tokens over a WebSocket (RFC 6455): many answers at once in
// one connection, each with an id that the client chose.
//
//	client → server
//	{"type":"generate","id":"a","prompt":"Once upon a time","max_tokens":16}
//	{"type":"generate","id":"b","messages":[{"role":"user","content":"Hello"}]}
//	{"type":"cancel","id":"a"}
//	{"type":"ping","id":"1"}
//
//	server → client
//	{"type":"token","id":"a","text":" there"}
//	{"type":"token","id":"b","call":{"index":0,"id":"…","name":"look","arguments":"{"}}
//	{"type":"end","id":"a","finish":"stop","tokens":12}
//	{"type":"error","id":"a","code":"bad_request","message":"…"}
//	{"type":"pong","id":"1"}
//
// Every request ends with one "end" or one "error" that has its id; a canceled one
// ends with finish "cancel". An error without an id is about a message that could
// not be read. docs/serving.md has all fields.
//
// It is mounted in a program's HTTP server. Its connections outlive the
// server's Shutdown, as all upgraded ones do: [Handler.Shutdown] ends them.
type Handler struct {
	cfg Config

	mu      sync.Mutex
	conns   map[*conn]struct{}
	closing bool
	idle    chan struct{} // closed when no connection is left after closing was set
}

// New returns a handler.
func New(cfg Config) *Handler {
	if cfg.Message == 0 {
		cfg.Message = 1 << 20
	}
	if cfg.AtOnce == 0 {
		cfg.AtOnce = 16
	}
	if cfg.Write == 0 {
		cfg.Write = 30 * time.Second
	}
	if cfg.Ping == 0 {
		cfg.Ping = 30 * time.Second
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Handler{cfg: cfg, conns: map[*conn]struct{}{}, idle: make(chan struct{})}
}

// accept answers the handshake: a page of another origin gets 403. Messages are
// not compressed, because tokens are shorter than what compression would add.
func (h *Handler) accept(w http.ResponseWriter, r *http.Request) (*websocket.Conn, error) {
	c, err := websocket.Accept(checked(w), r, &websocket.AcceptOptions{OriginPatterns: h.cfg.Origins, CompressionMode: websocket.CompressionDisabled})
	if err == nil {
		c.SetReadLimit(h.cfg.Message)
	}
	return c, err
}

// ServeHTTP serves one connection until either side closes it.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.Serve(w, r, "", "websocket") }

// Serve is ServeHTTP for a request with an id, of a client: messages are requests of the
// same client, and their ids begin with this one.
func (h *Handler) Serve(w http.ResponseWriter, r *http.Request, id, client string) {
	h.mu.Lock()
	closing := h.closing
	h.mu.Unlock()
	if closing {
		http.Error(w, "shutting down", http.StatusServiceUnavailable)
		return
	}
	socket, err := h.accept(w, r)
	if err != nil { // which was answered
		h.cfg.Logger.Debug("no websocket", "error", err)
		return
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context())) // which ends when a connection is taken over
	defer cancel()
	c := &conn{h: h, id: id, client: client, socket: socket, cancel: cancel, running: map[string]context.CancelFunc{}}
	if !h.enter(c) {
		socket.Close(websocket.StatusGoingAway, "shutting down")
		return
	}
	defer h.leave(c)
	c.serve(ctx)
}

// enter counts a connection among those that Shutdown ends, unless that has begun.
func (h *Handler) enter(c *conn) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closing {
		h.conns[c] = struct{}{}
	}
	return !h.closing
}

func (h *Handler) leave(c *conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.conns, c)
	h.endIfIdle()
}

// endIfIdle tells Shutdown that the last connection has ended. It is called with mu.
func (h *Handler) endIfIdle() {
	if !h.closing || len(h.conns) > 0 {
		return
	}
	select {
	case <-h.idle:
	default:
		close(h.idle)
	}
}

// Shutdown refuses new connections and requests, closes each connection when its
// last answer has ended, and returns when all are closed. When ctx ends it cuts off
// those that are left, and returns the context's error.
func (h *Handler) Shutdown(ctx context.Context) error {
	var closing fault.Group
	h.mu.Lock()
	h.closing = true
	for c := range h.conns {
		closing.Go(c.drain)
	}
	h.endIfIdle()
	h.mu.Unlock()
	var err error
	select {
	case <-h.idle:
	case <-ctx.Done():
		err = context.Cause(ctx)
		h.mu.Lock()
		for c := range h.conns {
			c.cancel()
		}
		h.mu.Unlock()
		<-h.idle
	}
	closing.Wait()
	return err
}
