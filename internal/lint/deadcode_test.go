package lint

import (
	"go/ast"
	"go/types"
	"slices"
	"testing"
)

// publicAPI are the packages whose exported names others may use.
var publicAPI = map[string]bool{
	".": true, "tensor": true, "plan": true, "plan/pass": true,
	"grad": true, "tier": true,
	"tier/backward":     true,
	"tier/graph":        true,
	"tier/blob":         true,
	"tier/tiertest":     true,
	"tier/budget":       true,
	"tier/hw":           true,
	"tier/lane":         true,
	"tier/decision":     true,
	"tier/learn":        true,
	"tier/replay":       true,
	"tier/ring":         true,
	"tier/stream":       true,
	"tier/checkpoint":   true,
	"tier/train":        true,
	"tier/trace":        true,
	"tier/metrics":      true,
	"grad/optim":        true,
	"nested":            true,
	"flow/amp":          true,
	"flow/amp/manifest": true,
	"flow/amp/isolate":  true,
	"flow/amp/scan":     true,
	"flow/amp/catalog":  true,
	"nested/rule":       true,
	"flow":              true,
	"flow/graph":        true,
	"flow/schedule":     true,
	"flow/sdf":          true,
	"flow/arena":        true,
	"flow/control":      true,
	"flow/rt":           true,
	"flow/mel":          true,

	"flow/node": true, "flow/node/basic": true, "flow/node/shipped": true,
	"flow/audio": true, "flow/audio/files": true, "flow/draw": true, "flow/fit": true, "flow/observe": true, "flow/segment": true, "flow/heat": true,

	"flow/node/nodetest": true, "flow/node/biquad": true, "flow/node/rowwise": true,
	"flow/node/filter": true, "flow/node/dynamics": true, "flow/node/source": true, "flow/node/spectrum": true, "flow/node/meter": true, "flow/node/neural": true,

	"flow/node/delay": true, "flow/node/resample": true, "flow/node/wave": true,
}

// calledFromOutside are methods that the standard library calls through its
// interfaces.
var calledFromOutside = map[string]bool{
	"String": true, "Error": true, "Unwrap": true, "Is": true, "As": true, "Format": true, "GoString": true,
	"MarshalText": true, "UnmarshalText": true, "MarshalJSON": true, "UnmarshalJSON": true,
	"Read": true, "ReadAt": true, "Write": true, "Close": true, "Seek": true, "WriteTo": true, "ReadFrom": true,
	"Len": true, "Less": true, "Swap": true, "Push": true, "Pop": true, "Import": true, "Set": true, "Type": true,
	"Add": true, "At": true, // history of a terminal
}

// notCalledYet are functions that only tests call so far, and what will.
var notCalledYet = map[string]string{
	"internal/modelfile NestedOf":         "metadata of arrays of arrays is read; no writer makes it yet",
	"internal/token Tokenizer.EncodePair": "rerankers and encoders take pairs",
}

// TestNoDeadCode finds functions that neither a program of this module nor its
// public packages can reach.
func TestNoDeadCode(t *testing.T) {
	m := module(t)
	g := callGraph{
		bodies: map[types.Object]ast.Node{}, in: map[types.Object]*lintPackage{}, names: map[types.Object]string{},
		methods: map[string][]types.Object{}, live: map[types.Object]bool{},
	}
	found := map[string]bool{}
	for _, p := range m.pkgs {
		g.add(p)
	}
	g.run()
	for o, p := range g.in {
		key := p.dir + " " + g.names[o]
		if why := notCalledYet[key]; why == "" {
			continue
		}
		if g.live[o] {
			t.Errorf("%s is called now: take it out of the table", key)
		}
		found[key] = true
		g.queue = append(g.queue, o)
	}
	for key := range notCalledYet {
		if !found[key] {
			t.Errorf("there is no %s: take it out of the table", key)
		}
	}
	g.run()
	var dead []string
	for o := range g.bodies {
		if !g.live[o] && !isTestSupport(g.in[o].dir) {
			dead = append(dead, m.fset.Position(o.Pos()).String()+": "+g.names[o])
		}
	}
	slices.Sort(dead)
	for _, d := range dead {
		t.Errorf("%s is never used", d)
	}
}

// isTestSupport names the packages that only tests import.
func isTestSupport(dir string) bool {
	return dir == "internal/golden" || dir == "internal/kernel/kerneltest" || dir == "internal/durable/faultfs" || dir == "flow/amp/internal/ctest"
}

// A callGraph is which functions mention which others. A call through an
// interface reaches every method of that name.
type callGraph struct {
	bodies  map[types.Object]ast.Node
	in      map[types.Object]*lintPackage
	names   map[types.Object]string // "Name" or "Type.Name"
	methods map[string][]types.Object
	live    map[types.Object]bool
	queue   []types.Object
	roots   []root
}

// A root is source that runs or may be called whoever mentions it.
type root struct {
	p    *lintPackage
	node ast.Node
}

func (g *callGraph) add(p *lintPackage) {
	for _, f := range p.files {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				g.roots = append(g.roots, root{p, d}) // the values of package variables
				continue
			}
			o := p.info.Defs[fn.Name]
			name := fn.Name.Name
			if o == nil || name == "init" || name == "main" || name == "_" {
				g.roots = append(g.roots, root{p, fn})
				continue
			}
			if fn.Body == nil || len(fn.Body.List) == 0 { // assembly, or a mark of an interface
				continue
			}
			g.bodies[o], g.in[o], g.names[o] = fn.Body, p, functionName(fn)
			if fn.Recv != nil {
				g.methods[name] = append(g.methods[name], o)
			}
			if publicAPI[p.dir] && ast.IsExported(name) || isTestSupport(p.dir) || fn.Recv != nil && calledFromOutside[name] {
				g.queue = append(g.queue, o)
			}
		}
	}
}

func (g *callGraph) run() {
	for _, r := range g.roots {
		g.follow(r.p, r.node)
	}
	for len(g.queue) > 0 {
		o := g.queue[len(g.queue)-1]
		g.queue = g.queue[:len(g.queue)-1]
		if !g.live[o] {
			g.live[o] = true
			g.follow(g.in[o], g.bodies[o])
		}
	}
}

// follow queues every function that the source mentions. A mention of an
// interface's method, in a call or in its declaration, is one of all methods
// of that name.
func (g *callGraph) follow(p *lintPackage, node ast.Node) {
	ast.Inspect(node, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			fn, ok := p.info.Uses[n].(*types.Func)
			if !ok {
				break
			}
			o := types.Object(fn.Origin())
			if g.bodies[o] != nil {
				g.queue = append(g.queue, o)
			} else if sig := fn.Signature(); sig.Recv() != nil {
				g.queue = append(g.queue, g.methods[fn.Name()]...)
			}
		case *ast.SelectorExpr: // of a type from outside, which may be an interface
			if p.info.Selections[n] == nil {
				g.queue = append(g.queue, g.methods[n.Sel.Name]...)
			}
		}
		return true
	})
}
