package amp

import (
	"context"
	"errors"
	"slices"
	"sync"

	"atenia/flow/graph"
	"atenia/flow/node"
)

// A CLAPConfig says where plug-ins are and where they may run.
type CLAPConfig struct {
	// Folders, or files, in the order of the search; see [CLAPFolders].
	Folders []string
	// Command is the program and arguments that end up in [ServeCLAPScan], whose own
	// are appended.
	Command []string
	// Isolate configures the processes of plug-ins. Its Command ends up in
	// Serve with [CLAP]; Format and Manifest are set by the catalog.
	Isolate ProcessConfig
	// SampleRate is that at which plug-ins are described, in hertz; zero means
	// 48000. Latencies depend on it.
	SampleRate float64
	// Trusted lists files, or folders of them, whose plug-ins run in this
	// process. One that crashes or calls _exit ends the program, unnamed: see
	// CatalogConfig.
	Trusted []string
}

// A CLAPCatalog is the set of plug-ins that were found. [OpenCLAPCatalog] makes one.
type CLAPCatalog struct {
	cfg   CLAPConfig
	files []*CLAPFile
	types node.Table
	mu    sync.Mutex
	nodes map[string]any // instances by the name of their node
}

// A CLAPFile is one file of plug-ins.
type CLAPFile struct {
	Path    string
	Plugins []CLAPPlugin // id, name, vendor and version; see [CLAPCatalog.Describe]
	Err     error        // why it is not usable

	c      *CLAPCatalog
	mu     sync.Mutex
	known  map[string]*CLAPPlugin
	failed map[string]error
	here   *CLAPLibrary
	there  *Process
	closed bool
}

// OpenCLAPCatalog finds plug-ins and asks each file for its list, in a process of
// its own. Files that cannot be used are in [CLAPCatalog.Files], each with its
// error. Close the catalog after all sessions that use it.
func OpenCLAPCatalog(ctx context.Context, cfg CLAPConfig) (*CLAPCatalog, error) {
	files, err := findCLAP(cfg.Folders)
	if err != nil {
		return nil, err
	}
	c := &CLAPCatalog{cfg: cfg, nodes: map[string]any{}}
	for _, path := range files {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		f := &CLAPFile{Path: path, c: c, known: map[string]*CLAPPlugin{}, failed: map[string]error{}}
		answers, err := ask(ctx, &cfg, path, nil)
		switch {
		case len(answers) == 0:
			f.Err = err
		case answers[0].Error != "":
			f.Err = &CLAPRefusedError{Path: path, Text: answers[0].Error}
		default:
			f.Plugins = answers[0].List
		}
		c.files = append(c.files, f)
		for i := range f.Plugins {
			if p := &f.Plugins[i]; !slices.ContainsFunc(c.types, func(t node.Type) bool { return t.Name == p.ID }) {
				c.types = append(c.types, typeOf(p, f.describe, f))
			}
		}
	}
	return c, nil
}

// Files returns the files in the order of the search.
func (c *CLAPCatalog) Files() []*CLAPFile { return c.files }

// Types returns the plug-ins as node types, to be appended to the shipped ones.
// A plug-in is described, in a process of its own, when a plan first uses it.
func (c *CLAPCatalog) Types() node.Table { return c.types }

// Describe describes all plug-ins, so that the entries of [CLAPCatalog.Types] tell
// their parameters. It returns the errors of those that cannot be used.
func (c *CLAPCatalog) Describe(ctx context.Context) (faults []error) {
	for _, f := range c.files {
		var ids []string
		for _, p := range f.Plugins {
			ids = append(ids, p.ID)
		}
		for len(ids) > 0 && ctx.Err() == nil { // a new child after each plug-in that ends one
			n, err := f.ask(ctx, ids)
			if n == 0 && err == nil {
				break
			}
			ids = ids[n:]
			if err != nil {
				faults = append(faults, err)
			}
		}
		for i := range c.types {
			if d := f.known[c.types[i].Name]; d != nil {
				c.types[i].Doc = docOf(d)
			}
		}
	}
	return faults
}

// ask describes plug-ins, until one of them is refused, and returns how many
// are dealt with.
func (f *CLAPFile) ask(ctx context.Context, ids []string) (int, error) {
	answers, err := ask(ctx, &f.c.cfg, f.Path, ids)
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, a := range answers {
		switch {
		case a.Plugin != nil && a.Plugin.ID == ids[i]:
			f.known[ids[i]] = a.Plugin
		default:
			if a.Error == "" {
				a.Error = "its description is of another plug-in"
			}
			f.failed[ids[i]] = &CLAPRefusedError{f.Path, ids[i], a.Error}
			return i + 1, f.failed[ids[i]]
		}
	}
	if err == nil || len(answers) == len(ids) {
		return len(answers), nil
	}
	id := ids[len(answers)]
	f.failed[id] = &CLAPRefusedError{f.Path, id, textOf(err)}
	return len(answers) + 1, f.failed[id]
}

func (f *CLAPFile) describe(id string) (*CLAPPlugin, error) {
	look := func() (*CLAPPlugin, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.known[id], f.failed[id]
	}
	p, err := look()
	if p == nil && err == nil {
		f.ask(context.Background(), []string{id})
		if p, err = look(); p == nil && err == nil {
			err = &CLAPRefusedError{f.Path, id, "no description"}
		}
	}
	return p, err
}

// Running returns the files in use, as package amp tells it of libraries of C
// nodes.
func (c *CLAPCatalog) Running() []LibraryStatus {
	var list []LibraryStatus
	for _, f := range c.files {
		f.mu.Lock()
		switch {
		case f.here != nil:
			list = append(list, LibraryStatus{Path: f.Path, Events: f.here.Events()})
		case f.there != nil:
			list = append(list, LibraryStatus{Path: f.Path, Isolated: true, Status: f.there.Status(), Events: f.there.Events()})
		}
		f.mu.Unlock()
	}
	return list
}

// State returns the state of the plug-in that runs a node, which the settings
// state and state_file of a plan restore.
func (c *CLAPCatalog) State(name string) ([]byte, error) {
	c.mu.Lock()
	i := c.nodes[name]
	c.mu.Unlock()
	if s, ok := i.(StateSaver); ok {
		return s.SaveState()
	}
	return nil, &graph.Error{Code: graph.UnknownNode, Names: []string{name}, Text: "no plug-in runs a node " + name}
}

// Close destroys all plug-ins, which must not be used any more, and ends the
// processes.
func (c *CLAPCatalog) Close() error {
	var err error
	for _, f := range c.files {
		f.mu.Lock()
		if f.here != nil {
			err = errors.Join(err, f.here.Close())
		}
		if f.there != nil {
			err = errors.Join(err, f.there.Close())
		}
		f.here, f.there, f.closed = nil, nil, true
		f.mu.Unlock()
	}
	return err
}

// start loads the file, here or in a process, for its first node.
func (f *CLAPFile) start() (Maker, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.closed:
		return nil, &CLAPRefusedError{Path: f.Path, Text: "the catalog is closed"}
	case f.here != nil:
		return f.here, nil
	case f.there != nil:
		return f.there, nil
	case Trusts(f.c.cfg.Trusted, f.Path):
		l, err := OpenCLAP(f.Path)
		if err != nil {
			return nil, err
		}
		f.here = l
		return l, nil
	}
	cfg := f.c.cfg.Isolate
	cfg.Format, cfg.Manifest = CLAPName, nil
	p, err := StartProcess(f.Path, cfg)
	if err != nil {
		return nil, err
	}
	f.there = p
	return p, nil
}

// New32 makes an instance for a graph in float32.
func (f *CLAPFile) New32(cfg node.Config) (node.Instance[float32], error) {
	return newIn(f, cfg, Maker.New32)
}

// New64 makes an instance for a graph in float64; see [CLAPLibrary.New64].
func (f *CLAPFile) New64(cfg node.Config) (node.Instance[float64], error) {
	return newIn(f, cfg, Maker.New64)
}

func newIn[F node.Float](f *CLAPFile, cfg node.Config, make func(Maker, node.Config) (node.Instance[F], error)) (node.Instance[F], error) {
	mk, err := f.start()
	if err != nil {
		return nil, err
	}
	i, err := make(mk, cfg)
	if err == nil {
		f.c.mu.Lock()
		f.c.nodes[cfg.Node.Name] = i
		f.c.mu.Unlock()
	}
	return i, err
}
