package mcp

// What changes while a session lasts: clients that subscribed to a resource are told when a
// model is loaded or unloaded.

import (
	"context"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// subscribe accepts subscriptions to the resources that there are, so that a client cannot
// fill memory with names of others.
func (s *Server) subscribe(ctx context.Context, req *sdk.SubscribeRequest) error {
	for _, root := range []string{modelsURI, decisionsURI} {
		if s.isResource(root, req.Params.URI) {
			return nil
		}
	}
	if more := s.cfg.Extra.Subscribe; more != nil {
		return more(ctx, req)
	}
	return sdk.ResourceNotFoundError(req.Params.URI)
}

// isResource reports whether a URI is a root, or one of its models.
func (s *Server) isResource(root, uri string) bool {
	name, ok := strings.CutPrefix(uri, root+"/")
	if !ok {
		return uri == root
	}
	for _, n := range s.cfg.Names() {
		if n == name {
			return true
		}
	}
	return false
}

// Changed says that a model was loaded or unloaded. It returns at once: subscribers are
// told by a goroutine, and only once of a model that changes several times meanwhile.
func (s *Server) Changed(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stale[name] = true
	if s.telling || s.ended.Err() != nil {
		return
	}
	s.telling = true
	s.notifier.Go(s.notify)
}

func (s *Server) notify() {
	for {
		s.mu.Lock()
		names := s.stale
		s.stale = map[string]bool{}
		if len(names) == 0 || s.ended.Err() != nil {
			s.telling = false
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
		uris := []string{modelsURI, decisionsURI}
		for name := range names {
			uris = append(uris, modelsURI+"/"+name, decisionsURI+"/"+name)
		}
		for _, uri := range uris {
			if err := s.sdk.ResourceUpdated(s.ended, &sdk.ResourceUpdatedNotificationParams{URI: uri}); err != nil {
				s.cfg.Logger.Debug("mcp notification", "uri", uri, "err", err)
			}
		}
	}
}
