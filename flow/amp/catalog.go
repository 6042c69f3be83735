package amp

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"atenia/flow/node"
)

// A CatalogConfig says where to find libraries and where they may run.
type CatalogConfig struct {
	Scan    ScanConfig
	Isolate ProcessConfig // Manifest is set for each library
	// Trusted lists libraries, or folders of libraries, that may run in this
	// process. A node of theirs that crashes, or calls _exit, ends the program
	// without a word: nothing of a process runs after that, so this package
	// cannot name it. The command line can ("atenia flow run --trust"), since it
	// watches itself from a second process.
	Trusted   []string
	NoMetrics bool // do not pass metrics to nodes
}

// A Catalog is the set of libraries that a scan found. [OpenCatalog] makes one.
type Catalog struct {
	cfg    CatalogConfig
	result *ScanResult
	makers []*maker
	types  node.Table
}

// OpenCatalog scans for libraries. Libraries that cannot be used are in
// [Catalog.Result], each with its error. Close the catalog after all sessions
// that use it.
func OpenCatalog(ctx context.Context, cfg CatalogConfig) (*Catalog, error) {
	r, err := Scan(ctx, cfg.Scan)
	if r == nil {
		return nil, err
	}
	c := &Catalog{cfg: cfg, result: r, makers: make([]*maker, len(r.Libraries))}
	for i := range r.Libraries {
		c.makers[i] = &maker{c: c, found: &r.Libraries[i]}
	}
	for _, t := range r.Types {
		if t.Major != Major {
			continue
		}
		m := r.Libraries[t.Library].Manifest
		one := Manifest{ABI: m.ABI, Nodes: slices.DeleteFunc(slices.Clone(m.Nodes), func(n ManifestNode) bool { return n.Type != t.Name })}
		c.types = append(c.types, Types(&one, c.makers[t.Library])...)
	}
	return c, err
}

// Types returns the entries of all types, to be appended to the shipped ones.
func (c *Catalog) Types() node.Table { return c.types }

// Result returns the result of the scan.
func (c *Catalog) Result() *ScanResult { return c.result }

// trusts reports whether a library may run in this process.
func (c *Catalog) trusts(l *LibraryInfo) bool {
	return !l.Manifest.Isolate && Trusts(c.cfg.Trusted, l.Path)
}

// A LibraryStatus is a library in use: at least one node was made of it.
type LibraryStatus struct {
	Path     string
	Isolated bool
	Status   ProcessStatus // of an isolated one
	Events   []Event       // since the last call
}

// Running returns the libraries in use, in the order of the search.
func (c *Catalog) Running() []LibraryStatus {
	var list []LibraryStatus
	for _, m := range c.makers {
		m.mu.Lock()
		switch {
		case m.here != nil:
			list = append(list, LibraryStatus{Path: m.found.Path, Events: m.here.Events()})
		case m.there != nil:
			list = append(list, LibraryStatus{Path: m.found.Path, Isolated: true, Status: m.there.Status(), Events: m.there.Events()})
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
	found *LibraryInfo

	mu     sync.Mutex
	here   *Library
	there  *Process
	closed bool
}

func (m *maker) start() (Maker, error) {
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
		l, err := Open(m.found.Path, Options{NoMetrics: m.c.cfg.NoMetrics, Manifest: m.found.Manifest})
		if err != nil {
			return nil, err
		}
		m.here = l
		return l, nil
	}
	cfg := m.c.cfg.Isolate
	cfg.Manifest, cfg.NoMetrics = m.found.Manifest, cmp.Or(cfg.NoMetrics, m.c.cfg.NoMetrics)
	p, err := StartProcess(m.found.Path, cfg)
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
