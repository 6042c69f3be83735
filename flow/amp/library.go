package amp

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"atenia/flow/amp/internal/abi"

	"atenia/flow/graph"
	"atenia/flow/node"
	"atenia/internal/machine/library"
	"atenia/internal/machine/watch"
)

// Major is the major version of the node ABI that this host implements.
const Major = abi.Major

// ErrUnsupported is the error of [Open] in builds that cannot load C nodes.
var ErrUnsupported error = abi.ErrUnsupported

// A LoadError says why a library cannot be used.
type LoadError struct {
	Path string
	Code graph.Code // Version: another major; else Fail
	Err  error
}

// Error implements error.
func (e *LoadError) Error() string { return fmt.Sprintf("%s: %v", e.Path, e.Err) }

// Unwrap returns the cause.
func (e *LoadError) Unwrap() error { return e.Err }

// Options configure [Open].
type Options struct {
	// NoMetrics passes no metrics to nodes: they report neither heat nor delay.
	NoMetrics bool
	// Manifest describes a library that does not describe itself. If it has a
	// sha256, that must be the file's.
	Manifest *Manifest

	log []byte // memory for the messages of the nodes; nil: its own
}

// A Library is a library of C nodes that [Open] loaded into this process.
//
// A crash in one of its nodes, or a call of _exit, ends the process, and nothing
// can tell which node it was: load only trusted libraries this way, and others with [OpenCatalog] or [StartProcess].
type Library struct {
	path      string
	opt       Options
	manifest  *Manifest
	callbacks *abi.Callbacks
	// Addresses of its functions, 0 for absent ones.
	v1, v2, release, save, load uintptr

	mu        sync.Mutex
	instances []*core // not yet closed, in the order of their making
	left      []Event // of closed instances
}

// Open loads a library and reads its description. Errors are of type
// *[LoadError], or [ErrUnsupported] in a build that cannot load any.
func Open(path string, o Options) (*Library, error) {
	l := &Library{path: path, opt: o}
	if err := l.open(); err != nil {
		if _, ok := errors.AsType[*LoadError](err); ok || errors.Is(err, ErrUnsupported) {
			return nil, err
		}
		return nil, &LoadError{path, graph.Fail, err}
	}
	return l, nil
}

func (l *Library) open() error {
	if err := abi.Check(); err != nil {
		return err
	}
	path, err := filepath.Abs(l.path)
	if err != nil {
		return err
	}
	if err := l.verify(path); err != nil {
		return err
	}
	place := watch.New("library " + path)
	defer place.Free()
	place.Enter()
	defer place.Leave()
	h, err := library.Open(path)
	if err != nil {
		return err
	}
	libc, err := library.Open("libc.so.6")
	if err != nil {
		return err
	}
	if l.callbacks, err = abi.NewCallbacks(libc, l.opt.log); err != nil {
		return err
	}
	find := func(name string) uintptr {
		f, err := h.Symbol(name)
		if err != nil {
			return 0
		}
		return f
	}
	l.v1, l.v2, l.release = find("amp_run_node"), find("amp_run_node_v2"), find("amp_release_state")
	l.save, l.load = find("amp_state_save"), find("amp_state_load")
	if l.v1 == 0 {
		return errors.New("no amp_run_node: not a library of nodes?")
	}
	if err := l.describe(find("amp_library_info")); err != nil {
		return err
	}
	for _, n := range l.manifest.Nodes {
		if n.Caps&abi.CapStateless == 0 && l.release == 0 {
			return fmt.Errorf("type %s has a state, and there is no amp_release_state", n.Type)
		}
	}
	return nil
}

// verify compares the file with the manifest's checksum.
func (l *Library) verify(path string) error {
	if l.opt.Manifest == nil || l.opt.Manifest.SHA256 == "" {
		return nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if sum := sha256.Sum256(b); hex.EncodeToString(sum[:]) != l.opt.Manifest.SHA256 {
		return errors.New("checksum differs from the manifest's")
	}
	return nil
}

// describe determines the types: the library's own description takes precedence
// over the manifest.
func (l *Library) describe(info uintptr) error {
	if info == 0 {
		if l.manifest = l.opt.Manifest; l.manifest == nil {
			return errors.New("no amp_library_info and no manifest beside it")
		}
		return l.version(uint32(l.manifest.ABI[0]))
	}
	p := library.Call(info, l.callbacks.Host())
	if p == 0 {
		return errors.New("amp_library_info returned NULL")
	}
	i := abi.At[abi.LibraryInfo](p)
	if err := l.version(i.Major); err != nil {
		return err
	}
	l.manifest = readInfo(i)
	return l.manifest.Check()
}

func (l *Library) version(major uint32) error {
	if major != abi.Major {
		return &LoadError{l.path, graph.Version, fmt.Errorf("node ABI version %d, this host has %d", major, abi.Major)}
	}
	return nil
}

// Limits of what is read of a library's description, whose counts may be wrong.
const (
	infoNodes = 1024
	infoPorts = 64
	infoText  = 257 // one more than a manifest allows
)

// readInfo copies a library's description. Entries have the length that the
// first one states, since a later minor version may have appended fields.
func readInfo(i *abi.LibraryInfo) *Manifest {
	m := &Manifest{ABI: [2]int{int(i.Major), int(i.Minor)}, Vendor: abi.Text(i.Vendor, infoText), Version: abi.Text(i.Version, infoText)}
	at := i.Nodes
	for range min(i.NodeCount, infoNodes) {
		n := abi.At[abi.NodeInfo](at)
		ins, params, outs := min(n.Inputs, infoPorts+1), min(n.Params, infoPorts+1), min(n.Outputs, infoPorts+1)
		m.Nodes = append(m.Nodes, ManifestNode{
			Type: abi.Text(n.Type, infoText), Caps: Caps(n.Caps), OversampleRatio: int(max(n.OversampleRatio, 1)),
			DeclaredDelay: int(n.DeclaredDelay), Jacobian: Jacobian(n.Jacobian),
			Inputs:  names(n.PortNames, 0, ins, "in"),
			Outputs: names(n.PortNames, ins, outs, "out"),
			Params:  names(n.ParamNames, 0, params, "p"),
		})
		at += uintptr(max(n.StructSize, 56))
	}
	return m
}

// names reads n names of an array from element first on, or makes them up.
func names(array uintptr, first, n uint32, prefix string) Names {
	list := make(Names, n)
	for i := range list {
		if array != 0 {
			list[i] = abi.Text(*abi.At[uintptr](array + 8*uintptr(first+uint32(i))), infoText)
		} else {
			list[i] = fmt.Sprint(prefix, i)
		}
	}
	return list
}

// Path returns the path of the loaded file.
func (l *Library) Path() string { return l.path }

// Manifest returns the description of the library.
func (l *Library) Manifest() *Manifest { return l.manifest }

// Types returns the library's types as entries for a catalogue.
func (l *Library) Types() node.Table { return Types(l.manifest, l) }

// New32 makes an instance that computes in float32.
func (l *Library) New32(cfg node.Config) (node.Instance[float32], error) {
	return newInstance[float32](l, cfg)
}

// New64 makes an instance that computes in float64.
func (l *Library) New64(cfg node.Config) (node.Instance[float64], error) {
	return newInstance[float64](l, cfg)
}

// Close releases the states of all instances, which must not be used any more.
// The code stays loaded.
func (l *Library) Close() error {
	l.mu.Lock()
	list := l.instances
	l.instances = nil
	l.mu.Unlock()
	for _, c := range list {
		c.free()
	}
	return nil
}
