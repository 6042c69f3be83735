package catalog

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"atenia/flow/amp"
	"atenia/flow/amp/isolate"
	"atenia/flow/amp/manifest"
	"atenia/flow/amp/scan"
	"atenia/flow/node"
)

// A Config says where to find libraries and where they may run.
type Config struct {
	Scan    scan.Config
	Isolate isolate.Config // Manifest is set for each library
	// Trusted lists libraries, or folders of libraries, that may run in this
	// process.
	Trusted   []string
	NoMetrics bool // do not pass metrics to nodes
}

// A Catalog is the set of libraries that a scan found.
type Catalog struct {
	cfg    Config
	result *scan.Result
	makers []*maker
	types  node.Table
}

// Open scans for libraries. Libraries that cannot be used are in
// [Catalog.Result], each with its error. Close the catalog after all sessions
// that use it.
func Open(ctx context.Context, cfg Config) (*Catalog, error) {
	r, err := scan.Run(ctx, cfg.Scan)
	if r == nil {
		return nil, err
	}
	c := &Catalog{cfg: cfg, result: r, makers: make([]*maker, len(r.Libraries))}
	for i := range r.Libraries {
		c.makers[i] = &maker{c: c, found: &r.Libraries[i]}
	}
	for _, t := range r.Types {
		if t.Major != amp.Major {
			continue
		}
		m := r.Libraries[t.Library].Manifest
		one := manifest.Manifest{ABI: m.ABI, Nodes: slices.DeleteFunc(slices.Clone(m.Nodes), func(n manifest.Node) bool { return n.Type != t.Name })}
		c.types = append(c.types, amp.Types(&one, c.makers[t.Library])...)
	}
	return c, err
}

// Types returns the entries of all types, to be appended to the shipped ones.
func (c *Catalog) Types() node.Table { return c.types }

// Result returns the result of the scan.
func (c *Catalog) Result() *scan.Result { return c.result }

// trusts reports whether a library may run in this process.
func (c *Catalog) trusts(l *scan.Library) bool {
	return !l.Manifest.Isolate && slices.ContainsFunc(c.cfg.Trusted, func(t string) bool {
		t, err := filepath.Abs(t)
		if err != nil {
			return false
		}
		rest, ok := strings.CutPrefix(l.Path, t)
		return ok && (rest == "" || rest[0] == filepath.Separator || t[len(t)-1] == filepath.Separator)
	})
}

// A Running is a library in use: at least one node was made of it.
type Running struct {
	Path     string
	Isolated bool
	Status   isolate.Status // of an isolated one
	Events   []amp.Event    // of one in this process, since the last call
}

// Running returns the libraries in use, in the order of the search.
func (c *Catalog) Running() []Running {
	var list []Running
	for _, m := range c.makers {
		m.mu.Lock()
		switch {
		case m.here != nil:
			list = append(list, Running{Path: m.found.Path, Events: m.here.Events()})
		case m.there != nil:
			list = append(list, Running{Path: m.found.Path, Isolated: true, Status: m.there.Status()})
		}
		m.mu.Unlock()
	}
	return list
}

// Close releases all nodes, which must not be used any more, and ends the
// processes.
func (c *Catalog) Close() error {
	var err error
	for _, m := range c.makers {
		m.mu.Lock()
		if m.here != nil {
			err = errors.Join(err, m.here.Close())
		}
		if m.there != nil {
			err = errors.Join(err, m.there.Close())
		}
		m.here, m.there, m.closed = nil, nil, true
		m.mu.Unlock()
	}
	return err
}

// A maker loads a library when its first node is made.
type maker struct {
	c     *Catalog
	found *scan.Library

	mu     sync.Mutex
	here   *amp.Library
	there  *isolate.Process
	closed bool
}

func (m *maker) start() (amp.Maker, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.closed:
		return nil, errors.New("the catalogue is closed")
	case m.here != nil:
		return m.here, nil
	case m.there != nil:
		return m.there, nil
	}
	if m.c.trusts(m.found) {
		l, err := amp.Open(m.found.Path, amp.Options{NoMetrics: m.c.cfg.NoMetrics, Manifest: m.found.Manifest})
		if err != nil {
			return nil, err
		}
		m.here = l
		return l, nil
	}
	cfg := m.c.cfg.Isolate
	cfg.Manifest, cfg.NoMetrics = m.found.Manifest, cmp.Or(cfg.NoMetrics, m.c.cfg.NoMetrics)
	p, err := isolate.Start(m.found.Path, cfg)
	if err != nil {
		return nil, err
	}
	m.there = p
	return p, nil
}

// New32 makes an instance that computes in float32.
func (m *maker) New32(cfg node.Config) (node.Instance[float32], error) {
	mk, err := m.start()
	if err != nil {
		return nil, err
	}
	return mk.New32(cfg)
}

// New64 makes an instance that computes in float64.
func (m *maker) New64(cfg node.Config) (node.Instance[float64], error) {
	mk, err := m.start()
	if err != nil {
		return nil, err
	}
	return mk.New64(cfg)
}
