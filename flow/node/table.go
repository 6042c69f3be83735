package node

import (
	"fmt"
	"slices"

	"atenia/flow/graph"
)

// A Type is one entry of the table of node types: what a plan may say about a
// node of that type, and how to make one. See package flow/internal/signal for
// entries to copy.
type Type struct {
	Name, Doc string
	Ins, Outs []string                 // ports, unless a setting changes them
	Framed    []Default                // parameters with one value, or one per frame
	FramedOf  func(Settings) []Default // instead of Framed, if a setting changes them
	Tables    []Default                // parameters with a shape of their own
	Settings  []Setting                // in the order in which they are checked
	Adjoint   bool                     // has a backward mode
	Jacobian  graph.Jacobian           // class of the derivative with respect to the inputs
	Dynamic   bool                     // may give fewer tokens than it takes
	Endpoint  graph.Endpoint           // the host plays its role
	// Refine completes the description of one node: ports, rates and shapes
	// that depend on settings. Nil: tokens of one frame, outputs shaped like
	// the first input, and one row for sources.
	Refine func(n *graph.Node, s Settings, spec *graph.Spec) error
	New32  func(Config) (Instance[float32], error)
	New64  func(Config) (Instance[float64], error)
}

// A Default is a parameter with the value it has if the plan gives none.
type Default struct {
	Name  string
	Value float64
}

// A Setting is a word, an integer or a text, fixed for a node by the plan.
// Unlike a parameter it cannot change while the graph runs.
type Setting struct {
	Name  string
	Among []string // the allowed words, the default first; nil: an integer
	Text  bool     // any text, empty by default
	Least int      // smallest integer
	Most  int      // largest integer; 0: 65536
	Value int      // default integer
}

// Settings holds the settings of one node, checked and with defaults filled in.
// The functions of a [Type] are called with them.
type Settings struct {
	names  []string
	words  []string
	counts []int
}

// Word returns the word or text of a setting.
func (s Settings) Word(name string) string { return s.words[slices.Index(s.names, name)] }

// Int returns the integer of a setting.
func (s Settings) Int(name string) int { return s.counts[slices.Index(s.names, name)] }

// A Table is a catalogue of node types and implements [graph.Catalog]. Tables
// may be concatenated; of several entries with one name the first counts.
type Table []Type

// Lookup returns the entry of a type.
func (t Table) Lookup(name string) (*Type, bool) {
	i := slices.IndexFunc(t, func(x Type) bool { return x.Name == name })
	if i < 0 {
		return nil, false
	}
	return &t[i], true
}

// New makes an instance of a linked node. Describe has accepted the node's
// plan, so the only errors are those of the type's constructor.
func New[F Float](t Table, cfg Config) (Instance[F], error) {
	typ, ok := t.Lookup(cfg.Node.Type)
	if !ok {
		return nil, &graph.Error{Code: graph.UnknownNode, Path: cfg.Node.Path + ".type", Names: []string{cfg.Node.Name}, Text: "unknown type " + cfg.Node.Type}
	}
	var err error
	if cfg.Settings, err = typ.settings(cfg.Node.Node); err != nil {
		return nil, err
	}
	var made any
	if _, wide := any(F(0)).(float64); wide {
		made, err = typ.New64(cfg)
	} else {
		made, err = typ.New32(cfg)
	}
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", cfg.Node.Name, err)
	}
	return made.(Instance[F]), nil
}
