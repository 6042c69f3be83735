package serve

// The endpoints of operators: is it alive, is it ready, how much does it do.

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"atenia"
	"atenia/internal/fault"
	"atenia/serve/internal/host"
)

// loading is the load of the first model, which begins when the server is made.
type loading struct {
	group fault.Group
	mu    sync.Mutex
	err   error
}

func (l *loading) start(s *Server) {
	l.group.Go(func() {
		defer close(s.ready)
		lease, err := s.pool.Borrow(context.Background(), "")
		if err == nil {
			lease.Release()
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.err = err
	})
}

// Ready waits until the first model is loaded, and returns the error if it cannot be.
func (s *Server) Ready(ctx context.Context) error {
	select {
	case <-s.ready:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	s.load.mu.Lock()
	defer s.load.mu.Unlock()
	return s.load.err
}

func (s *Server) operation() []host.Route {
	return []host.Route{
		{Pattern: "GET /health/live", Serve: s.live, Public: true},
		{Pattern: "GET /health/ready", Serve: s.health, Public: true},
		{Pattern: "GET /health", Serve: s.health, Public: true},
		{Pattern: "GET /metrics", Serve: s.metrics},
		{Pattern: "GET /slots", Serve: s.slots},
		{Pattern: "POST /slots/{id}", Serve: s.slotFile},
		{Pattern: "GET /why/{request}", Serve: s.why},
	}
}

// live says that the process answers, whatever it does.
func (s *Server) live(_ http.ResponseWriter, r *host.Request) error {
	return r.WriteJSON(http.StatusOK, map[string]string{"status": "ok"})
}

// health says whether requests should be sent: 503 while the first model is loaded, and
// from the beginning of a drain. Who has had an answer of that model finds it loaded.
func (s *Server) health(_ http.ResponseWriter, r *host.Request) error {
	status, code := "ok", http.StatusOK
	select {
	case <-s.ready:
		s.load.mu.Lock()
		if s.load.err != nil {
			status, code = "error", http.StatusServiceUnavailable
		}
		s.load.mu.Unlock()
	default:
		status, code = "loading", http.StatusServiceUnavailable
	}
	if s.pool.List()[0].Loaded {
		status, code = "ok", http.StatusOK
	}
	if s.host.Draining() {
		status, code = "draining", http.StatusServiceUnavailable
	}
	return r.WriteJSON(code, map[string]string{"status": status})
}

func (s *Server) metrics(w http.ResponseWriter, r *host.Request) error {
	s.host.Metrics.ServeHTTP(w, r.Request)
	return nil
}

// slots says which models are loaded, and what each of their slots does.
func (s *Server) slots(_ http.ResponseWriter, r *host.Request) error {
	type model struct {
		Model    string                 `json:"model"`
		Loaded   bool                   `json:"loaded"`
		Users    int                    `json:"requests"`
		Share    int64                  `json:"budget_bytes,omitempty"`
		Expires  *time.Time             `json:"expires,omitempty"`
		Requests []atenia.RequestStatus `json:"slots,omitempty"`
		Cache    any                    `json:"cache,omitempty"` // its statistics; nil = it is not loaded
	}
	out := struct {
		Running int     `json:"requests_running"`
		Models  []model `json:"models"`
	}{Running: s.host.Running() - 1} // besides this one
	for _, i := range s.pool.List() {
		m := model{Model: i.Name, Loaded: i.Loaded, Users: i.Users, Share: i.Share}
		if !i.Expires.IsZero() {
			m.Expires = &i.Expires
		}
		out.Models = append(out.Models, m)
	}
	for _, l := range s.pool.Loaded() {
		for i := range out.Models {
			if out.Models[i].Model == l.Info.Name {
				out.Models[i].Requests, out.Models[i].Cache = l.Model.Requests(), l.Model.CacheStats()
			}
		}
		l.Release()
	}
	return r.WriteJSON(http.StatusOK, out)
}

// why says what was decided about a request, whose id its answer's X-Request-Id has.
func (s *Server) why(_ http.ResponseWriter, r *host.Request) error {
	type told struct {
		Model     string            `json:"model"`
		Decisions []atenia.Decision `json:"decisions"`
	}
	out := struct {
		Request string `json:"request"`
		Models  []told `json:"models"`
		// Tools are those of MCP servers.
		Tools []host.ToolDecision `json:"tools,omitempty"`
	}{Request: r.PathValue("request"), Models: []told{}}
	out.Tools = s.host.ToolDecisions(out.Request)
	for _, l := range s.pool.Loaded() {
		var about []atenia.Decision
		for _, d := range l.Model.Why("") {
			// Further answers of a request have its id with a number.
			if d.Request == out.Request || strings.HasPrefix(d.Request, out.Request+".") {
				about = append(about, d)
			}
		}
		if len(about) > 0 {
			out.Models = append(out.Models, told{l.Info.Name, about})
		}
		l.Release()
	}
	if len(out.Models) == 0 && len(out.Tools) == 0 {
		return &host.Problem{
			Status: http.StatusNotFound, Code: "not_found",
			Message: "Nothing is known of the request " + strconv.Quote(out.Request) + ". The last 4096 decisions about a loaded model are kept.",
		}
	}
	return r.WriteJSON(http.StatusOK, out)
}
