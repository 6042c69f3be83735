package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"atenia"
	"atenia/internal/fault"
	"atenia/place"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	modelsURI    = "atenia://models"
	decisionsURI = "atenia://decisions"
	jsonType     = "application/json"
	template     = "/{+name}" // of one model, after either
)

func (s *Server) addResources() {
	add := func(uri, name, about string, one func(ctx context.Context, name string) (any, error)) {
		read := func(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			var v any
			err := fault.Call(func() (err error) {
				v, err = s.read(ctx, uri, req.Params.URI, one)
				return err
			})
			if err != nil {
				return nil, s.tell(name, err)
			}
			b, err := json.MarshalIndent(v, "", "  ")
			if err != nil {
				return nil, err
			}
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: req.Params.URI, MIMEType: jsonType, Text: string(b)}}}, nil
		}
		s.sdk.AddResource(&sdk.Resource{URI: uri, Name: name, Description: about, MIMEType: jsonType}, read)
		s.sdk.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: uri + template, Name: name + "-of-model", Description: about + ", of one model", MIMEType: jsonType}, read)
	}
	add(modelsURI, "models", "The models that are offered, the default first: name, and once it is loaded its family, context, vocabulary and what it makes", s.describe)
	add(decisionsURI, "decisions", "What was decided for models and why: how their weights are kept, where their memory is, and the account of their last run", s.decisions)
}

// read returns a resource of all models, or of the one that the URI names.
func (s *Server) read(ctx context.Context, root, uri string, one func(context.Context, string) (any, error)) (any, error) {
	names := s.cfg.Names()
	if uri == root {
		all := []any{}
		for _, name := range names {
			if s.cfg.Loaded != nil && !s.cfg.Loaded(name) {
				all = append(all, unloaded{Name: name})
				continue
			}
			v, err := one(ctx, name)
			if err != nil {
				return nil, err
			}
			all = append(all, v)
		}
		return all, nil
	}
	name, ok := strings.CutPrefix(uri, root+"/")
	if !ok || !slices.Contains(names, name) {
		return nil, sdk.ResourceNotFoundError(uri)
	}
	return one(ctx, name)
}

// unloaded is a model that a list does not load.
type unloaded struct {
	Name   string `json:"name"`
	Loaded bool   `json:"loaded"`
}

type modelView struct {
	Name       string `json:"name"`
	Loaded     bool   `json:"loaded"`
	Family     string `json:"family"`
	Context    int    `json:"context"`
	Vocabulary int    `json:"vocabulary"`
	Chat       bool   `json:"chat"`
	Images     bool   `json:"images"`
	Embeds     bool   `json:"embeds"` // it was made for vectors
	Plan       string `json:"plan"`   // its ID
}

func (s *Server) describe(ctx context.Context, name string) (any, error) {
	m, err := s.cfg.Use(ctx, name)
	if err != nil {
		return nil, err
	}
	defer m.Release()
	v := modelView{Name: name, Loaded: true, Family: m.Family(), Context: m.Context(), Vocabulary: m.Vocab(), Images: m.ReadsImages()}
	v.Chat, _ = m.HasChat()
	_, v.Embeds = m.Encoding()
	v.Plan, err = m.Plan().ID()
	return v, err
}

type decisionView struct {
	Name    string           `json:"name"`
	Loaded  bool             `json:"loaded"`
	Weights string           `json:"weights"`
	Because string           `json:"because"`
	Memory  *place.MemoryMap `json:"memory"`
	LastRun *place.LastRun   `json:"last_run,omitempty"`
}

func (s *Server) decisions(ctx context.Context, name string) (any, error) {
	m, err := s.cfg.Use(ctx, name)
	if err != nil {
		return nil, err
	}
	defer m.Release()
	p := m.Packing()
	v := decisionView{Name: name, Loaded: true, Weights: p.Mode, Because: p.Because, Memory: m.Map()}
	if v.LastRun, err = s.lastRun(m.Model); err != nil && !errors.Is(err, atenia.ErrNoRun) {
		return nil, err
	}
	return v, nil
}
