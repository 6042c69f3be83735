package serve

// Which endpoints there are: the one list of all dialects.

import (
	"net/http"
	"strings"

	"atenia/serve/internal/dialect"
	"atenia/serve/internal/host"
)

// mount registers the endpoints of every dialect.
func (s *Server) mount() {
	s.host.Mount(s.mux, dialect.Routes(s.store))
	s.host.Mount(s.mux, s.operation())
	s.host.Mount(s.mux, s.agents())
	// Whatever no route has.
	s.host.Mount(s.mux, []host.Route{
		{Pattern: "OPTIONS /", Serve: s.host.Preflight, Public: true},
		{Pattern: "/", Serve: s.missing, Fail: dialect.Fail, Public: true},
	})
}

// missing answers requests that no endpoint has.
func (s *Server) missing(_ http.ResponseWriter, r *host.Request) error {
	p := &host.Problem{Status: http.StatusNotFound, Code: "not_found", Message: "There is no " + r.Method + " " + r.URL.Path + "."}
	for _, other := range []string{http.MethodPost, http.MethodGet} {
		q := r.Request.Clone(r.Context())
		q.Method = other
		if _, pattern := s.mux.Handler(q); strings.HasPrefix(pattern, other+" ") && other != r.Method {
			p = &host.Problem{Status: http.StatusMethodNotAllowed, Code: "method_not_allowed", Message: r.URL.Path + " takes " + other + ", not " + r.Method + "."}
			break
		}
	}
	return p
}
