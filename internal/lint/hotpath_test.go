package lint

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"
)

// TestStepPath reads every function of the executor that a step can reach and
// finds no untyped value, no map and no reflection in it. The roots are
// functions with a step as parameter, the workers' entry points, and every
// function literal (kernels are closures); functions of the package that they
// call are reached, too.
func TestStepPath(t *testing.T) {
	m := module(t)
	p := m.pkg(t, "internal/exec")
	decls := map[types.Object]*ast.FuncDecl{}
	var queue []*ast.FuncDecl
	var bodies []*ast.BlockStmt
	p.functions(func(name string, fn *ast.FuncDecl) {
		decls[p.info.Defs[fn.Name]] = fn
		if seesStep(p, fn) || fn.Name.Name == "Range" {
			queue = append(queue, fn)
		}
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			if l, ok := n.(*ast.FuncLit); ok {
				bodies = append(bodies, l.Body)
			}
			return true
		})
	})
	if len(queue) < 5 || len(bodies) < 5 {
		t.Fatalf("%d functions and %d literals found, the search is broken", len(queue), len(bodies))
	}
	reached := map[*ast.FuncDecl]bool{}
	visit := func(body ast.Node) {
		ast.Inspect(body, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				if fn := decls[p.info.Uses[id]]; fn != nil && !makesError(p, fn) {
					queue = append(queue, fn)
				}
			}
			return true
		})
		checkTyped(t, m, p, body)
	}
	for _, b := range bodies {
		visit(b)
	}
	for len(queue) > 0 {
		fn := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if !reached[fn] {
			reached[fn] = true
			visit(fn.Body)
		}
	}
	for fn := range reached {
		if name := functionName(fn); name == "New" || name == "Executor.bindPlan" || name == "binder.Open" {
			t.Errorf("a step reaches %s", name)
		}
	}
}

// seesStep reports whether a function has a *Step among receiver and parameters.
func seesStep(p *lintPackage, fn *ast.FuncDecl) bool {
	sig, ok := p.info.Defs[fn.Name].Type().(*types.Signature)
	if !ok {
		return false
	}
	if r := sig.Recv(); r != nil && isNamed(r.Type(), "internal/exec", "Step") {
		return true
	}
	for v := range sig.Params().Variables() {
		if isNamed(v.Type(), "internal/exec", "Step") {
			return true
		}
	}
	return false
}

// makesError reports whether a function formats an error: it runs once, when a
// step is rejected.
func makesError(p *lintPackage, fn *ast.FuncDecl) bool {
	sig := p.info.Defs[fn.Name].Type().(*types.Signature)
	n := sig.Results().Len()
	return sig.Variadic() && n == 1 && sig.Results().At(0).Type() == types.Universe.Lookup("error").Type()
}

func checkTyped(t *testing.T, m *lintModule, p *lintPackage, body ast.Node) {
	t.Helper()
	ast.Inspect(body, func(n ast.Node) bool {
		what := ""
		switch n := n.(type) {
		case *ast.TypeSwitchStmt:
			what = "a type switch"
		case *ast.TypeAssertExpr:
			what = "a type assertion"
		case *ast.SelectorExpr:
			if id, ok := n.X.(*ast.Ident); ok && id.Name == "reflect" {
				what = "reflection"
			}
		}
		if x, ok := n.(ast.Expr); ok && what == "" {
			switch typ := p.info.TypeOf(x).(type) {
			case nil:
			case *types.Map:
				what = "a map"
			default:
				if i, ok := typ.Underlying().(*types.Interface); ok && i.NumMethods() == 0 && !isTypeParam(typ) {
					what = "an untyped value"
				}
			}
		}
		if what != "" {
			t.Errorf("%s: %s in the path of a step", m.fset.Position(n.Pos()), what)
		}
		return true
	})
}

func isTypeParam(typ types.Type) bool {
	_, ok := typ.(*types.TypeParam)
	return ok
}

// computes are the packages that run while tokens are made.
var computes = []string{"internal/exec", "internal/memory/pack", "internal/kernel", "internal/machine/pool", "internal/memory/kv", "internal/sched", "internal/sample"}

// TestNoLogging: nothing is printed or logged where tokens are made; fmt is
// there for errors alone.
func TestNoLogging(t *testing.T) {
	m := module(t)
	for _, dir := range computes {
		p := m.pkg(t, dir)
		p.imports(func(imp string, at token.Pos) {
			if imp == "log" || strings.HasPrefix(imp, "log/") {
				t.Errorf("%s: imports %s", m.fset.Position(at), imp)
			}
		})
		for _, f := range p.files {
			ast.Inspect(f, func(n ast.Node) bool {
				if c, ok := n.(*ast.CallExpr); ok {
					if call := types.ExprString(c.Fun); strings.HasPrefix(call, "fmt.Print") || strings.HasPrefix(call, "fmt.Fprint") || call == "print" || call == "println" {
						t.Errorf("%s: %s", m.fset.Position(c.Pos()), call)
					}
				}
				return true
			})
		}
	}
}

// backends are the packages that run plans on a machine.
var backends = []string{"internal/exec", "internal/memory/pack", "internal/kernel", "internal/machine/pool", "internal/memory/kv", "internal/sched"}

// mutableGlobals are the package variables that change after start-up.
var mutableGlobals = []string{
	"internal/kernel.level", // tests force a variant of the kernels
	"internal/kernel.made",  // choices that kernels made by measurement, for bench and doctor
}

// addressedTables are the package variables whose address is taken: tables that
// kernels read through a pointer, and measurements of the first use, on which
// no result depends.
var addressedTables = []string{"internal/kernel.iq4Values", "internal/kernel.mxfp4Values", "internal/kernel.tileChoice"}

// TestNoGlobalState: packages that run plans keep no state between calls except
// in values that their caller owns.
func TestNoGlobalState(t *testing.T) {
	m := module(t)
	var changed, addressed []string
	for _, dir := range backends {
		p := m.pkg(t, dir)
		for _, name := range p.types.Scope().Names() {
			v, ok := p.types.Scope().Lookup(name).(*types.Var)
			if !ok {
				continue
			}
			written, pointer := p.changes(v)
			if written || p.isLock(v) {
				changed = append(changed, dir+"."+name)
			}
			if pointer {
				addressed = append(addressed, dir+"."+name)
			}
		}
	}
	if !slices.Equal(changed, mutableGlobals) {
		t.Errorf("variables of packages that change: %q, want %q", changed, mutableGlobals)
	}
	if !slices.Equal(addressed, addressedTables) {
		t.Errorf("variables of packages whose address is taken: %q, want %q", addressed, addressedTables)
	}
}

// changes reports whether a function other than init assigns to v or a part of
// it, and whether one takes its address.
func (p *lintPackage) changes(v *types.Var) (written, addressed bool) {
	root := func(x ast.Expr) bool { return p.rootedIn(x, v) }
	p.functions(func(name string, fn *ast.FuncDecl) {
		if name == "init" {
			return
		}
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				written = written || n.Tok != token.DEFINE && slices.ContainsFunc(n.Lhs, root)
			case *ast.IncDecStmt:
				written = written || root(n.X)
			case *ast.UnaryExpr:
				addressed = addressed || n.Op == token.AND && root(n.X)
			}
			return true
		})
	})
	return written, addressed
}

// rootedIn reports whether an expression is v or a part of it.
func (p *lintPackage) rootedIn(x ast.Expr, v *types.Var) bool {
	switch e := x.(type) {
	case *ast.Ident:
		return p.info.Uses[e] == v
	case *ast.IndexExpr:
		return p.rootedIn(e.X, v)
	case *ast.SelectorExpr:
		return p.rootedIn(e.X, v)
	case *ast.StarExpr:
		return p.rootedIn(e.X, v)
	case *ast.ParenExpr:
		return p.rootedIn(e.X, v)
	}
	return false
}

// isLock reports whether v's declaration gives it a type of package sync or a
// channel, which change without an assignment.
func (p *lintPackage) isLock(v *types.Var) bool {
	for _, f := range p.files {
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, s := range g.Specs {
				vs, ok := s.(*ast.ValueSpec)
				if !ok || vs.Type == nil || !slices.ContainsFunc(vs.Names, func(id *ast.Ident) bool { return p.info.Defs[id] == v }) {
					continue
				}
				text := types.ExprString(vs.Type)
				return strings.Contains(text, "sync.") || strings.Contains(text, "atomic.") || strings.HasPrefix(text, "chan")
			}
		}
	}
	return false
}
