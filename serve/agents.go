package serve

// MCP, for agents, and the WebSocket, for programs that want many answers in one
// connection: protocols that bring their own form of requests.

import (
	"context"
	"io"
	"net/http"
	"runtime/debug"
	"strings"

	"atenia/serve/internal/dialect"
	"atenia/serve/internal/host"
	"atenia/serve/internal/mcp"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// An MCP is what a program adds to what agents find at /mcp, besides the tools, resources
// and the prompt of the models. The zero value adds nothing.
//
//	serve.Config{MCP: serve.MCP{Add: func(s *mcp.Server) { mcp.AddTool(s, …) }}}
//
// Handlers are called by many goroutines. A panic in one of them is an error of its
// request. What they do is theirs to limit.
type MCP struct {
	// Add adds tools, resources and prompts to the server, of the official library. It is
	// called once by [New]; s may be kept, to add more while clients are connected
	// (they are told) and to say that a resource changed.
	Add func(s *sdk.Server)
	// Complete completes arguments of prompts and resources that Add added. nil = none.
	Complete func(context.Context, *sdk.CompleteRequest) (*sdk.CompleteResult, error)
	// Subscribe says whether a client may subscribe to a resource that Add added: nil is
	// yes. A Subscribe that is nil accepts none.
	Subscribe func(context.Context, *sdk.SubscribeRequest) error
}

// patterns returns origins as those of a WebSocket are compared: a scheme has any host.
func patterns(origins []string) (list []string) {
	for _, o := range origins {
		if strings.HasSuffix(o, "://") {
			o += "*"
		}
		list = append(list, o)
	}
	return list
}

// openAgents makes the handlers of both.
func (s *Server) openAgents(c *Config) {
	s.mcp = mcp.New(mcp.Config{
		Host: s.host, Names: s.names, Use: s.pool.Borrow, Loaded: s.loaded, State: c.Open.Observe.Account, Version: version(), Logger: c.Logger,
		Extra: mcp.Extra(c.MCP),
	})
	s.ws = dialect.New(dialect.Config{Host: s.host, Use: s.pool.Borrow, Origins: patterns(c.Origins), Message: c.MaxBody, Write: c.WriteTimeout, Logger: c.Logger})
}

// agents are the routes of both.
func (s *Server) agents() []host.Route {
	agents := s.mcp.Handler()
	socket := func(w http.ResponseWriter, r *host.Request) error {
		s.ws.Serve(w, r.Request, r.ID, r.Client())
		return nil
	}
	m := func(w http.ResponseWriter, r *host.Request) error {
		q, err := mcp.Of(r)
		if err == nil {
			agents.ServeHTTP(w, q)
		}
		return err
	}
	return []host.Route{
		{Pattern: "POST /mcp", Serve: m},
		{Pattern: "GET /mcp", Serve: m},
		{Pattern: "DELETE /mcp", Serve: m},
		{Pattern: "GET /ws", Serve: socket, Ticket: true},
		{Pattern: "POST /v1/tickets", Serve: s.host.Ticket, Fail: dialect.Fail},
	}
}

// MCP serves one client of the Model Context Protocol over lines of JSON, as a
// program does that an agent starts: r and w are then its standard input and
// output. It returns when r ends, which is no error, or when ctx does.
func (s *Server) MCP(ctx context.Context, r io.ReadCloser, w io.WriteCloser) error {
	return s.mcp.Stdio(ctx, r, w)
}

func (s *Server) names() (names []string) {
	for _, i := range s.pool.List() {
		names = append(names, i.Name)
	}
	return names
}

// loaded reports whether a model is in memory, or on its way there as the first one is.
func (s *Server) loaded(name string) bool {
	i, err := s.pool.Lookup(name)
	return err == nil && (i.Loaded || name == s.names()[0])
}

// version is what the module system knows of this program.
func version() string {
	if b, ok := debug.ReadBuildInfo(); ok && b.Main.Version != "" {
		return b.Main.Version
	}
	return "unknown"
}
