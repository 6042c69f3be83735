package serve

// MCP, for agents, and the WebSocket, for programs that want many answers in one
// connection: protocols that bring their own form of requests.

import (
	"context"
	"io"
	"net/http"
	"runtime/debug"

	"atenia"
	"atenia/serve/internal/host"
	"atenia/serve/internal/mcp"
	"atenia/serve/internal/ws"
)

// openAgents makes the handlers of both.
func (s *Server) openAgents(c *Config) {
	use := func(ctx context.Context, name string) (*atenia.Model, func(), error) {
		l, err := s.pool.Borrow(ctx, name)
		if err != nil {
			return nil, nil, err
		}
		return l.Model, l.Release, nil
	}
	s.mcp = mcp.New(mcp.Config{Names: s.names, Use: use, Loaded: s.loaded, State: c.Open.Observe.Account, Version: version(), Logger: c.Logger})
	s.ws = ws.New(ws.Config{Use: use, Origins: c.Origins, Message: c.MaxBody, Write: c.WriteTimeout, Logger: c.Logger})
}

// agents are the routes of both.
func (s *Server) agents() []host.Route {
	over := func(h http.Handler) func(http.ResponseWriter, *host.Request) error {
		return func(w http.ResponseWriter, r *host.Request) error {
			h.ServeHTTP(w, r.Request)
			return nil
		}
	}
	m := over(s.mcp.Handler())
	return []host.Route{
		{Pattern: "POST /mcp", Serve: m},
		{Pattern: "GET /mcp", Serve: m},
		{Pattern: "DELETE /mcp", Serve: m},
		{Pattern: "GET /ws", Serve: over(s.ws)},
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
