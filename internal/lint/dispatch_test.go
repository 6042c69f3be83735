package lint

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"
	"testing"
)

// opcodeSwitches are the functions outside package plan that may choose by
// opcode: the compiler has one rule per opcode for where the numbers of a
// configuration go, of the decoder and of each kind of encoder before it. Nothing that runs a plan belongs here.
var opcodeSwitches = []string{
	"internal/model/compile resolver.Params", "internal/model/compile resolver.sound", "internal/model/compile towerResolver.Params",
}

// TestNoOpcodeSwitch: the behaviour of an opcode is an entry of a table.
func TestNoOpcodeSwitch(t *testing.T) {
	m := module(t)
	opcode := m.member(t, "internal/plan", "Opcode").Type()
	var found []string
	for dir, p := range m.pkgs {
		if dir == "internal/plan" || strings.HasPrefix(dir, "internal/plan/") {
			continue
		}
		p.functions(func(name string, fn *ast.FuncDecl) {
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				s, ok := n.(*ast.SwitchStmt)
				if !ok || s.Tag == nil {
					return true
				}
				if tv, ok := p.info.Types[s.Tag]; ok && tv.Type == opcode {
					found = append(found, dir+" "+name)
				}
				return true
			})
		})
	}
	slices.Sort(found)
	if !slices.Equal(found, opcodeSwitches) {
		t.Errorf("switches over opcodes in %q, want %q alone", found, opcodeSwitches)
	}
}

// TestSingleExecute: one loop runs every plan. bound records are run by one
// function, made by one, and started by one.
func TestSingleExecute(t *testing.T) {
	m := module(t)
	p := m.pkg(t, "internal/exec")
	for _, c := range []struct {
		name  string
		users []string
	}{
		{"bound.run", []string{"Executor.bindPlan", "execute"}}, // set by the one, called by the other
		{"execute", []string{"Executor.stage"}},                 // recorded or not
		{"Executor.bindPlan", []string{"Executor.bindStages"}},
	} {
		if got := p.usersOf(is(m.member(t, "internal/exec", c.name))); !slices.Equal(got, c.users) {
			t.Errorf("%q use %s, want %q alone", got, c.name, c.users)
		}
	}
	adapter := func(o types.Object) bool { return isNamed(o.Type(), "internal/plan", "AdapterTable") }
	if got, want := p.usersOf(adapter), []string{"Executor.bindPlan", "cpuBackend.Capability"}; !slices.Equal(got, want) {
		t.Errorf("%q read the adapter table, want %q", got, want)
	}
	t.Run("opaque", func(t *testing.T) { executeIsOpaque(t, p) })
}

// executeIsOpaque: the loop reads only its records. It reads no values, and it
// does not check whether an adapter exists, because routing has.
func executeIsOpaque(t *testing.T, p *lintPackage) {
	p.functions(func(name string, fn *ast.FuncDecl) {
		if name != "execute" {
			return
		}
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.IndexExpr:
				if id, ok := n.X.(*ast.Ident); !ok || id.Name != "prog" {
					t.Errorf("execute indexes %s", types.ExprString(n.X))
				}
			case *ast.BinaryExpr:
				if _, isFunc := p.info.TypeOf(n.X).Underlying().(*types.Signature); isFunc && !isField(n.X, "Trace") {
					t.Errorf("execute compares the function %s", types.ExprString(n.X))
				}
			}
			return true
		})
	})
}

func isField(x ast.Expr, name string) bool {
	s, ok := x.(*ast.SelectorExpr)
	return ok && s.Sel.Name == name
}

// TestCountersCostNothing: without counters or a tracer a step runs the first
// loop of execute, which uses neither; callers that pass no counters have none.
func TestCountersCostNothing(t *testing.T) {
	p := module(t).pkg(t, "internal/exec")
	seen := false
	p.functions(func(name string, fn *ast.FuncDecl) {
		if name != "execute" {
			return
		}
		first, ok := fn.Body.List[0].(*ast.IfStmt)
		if !ok || types.ExprString(first.Cond) != "s.Counters == nil && s.Trace == nil" {
			t.Fatal("execute does not begin with the loop that counts nothing")
		}
		seen = true
		if _, returns := first.Body.List[len(first.Body.List)-1].(*ast.ReturnStmt); !returns {
			t.Error("the loop that counts nothing falls through to the other")
		}
		ast.Inspect(first.Body, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && (id.Name == "Counters" || id.Name == "Trace" || id.Name == "atomic") {
				t.Errorf("the loop that counts nothing mentions %s", id.Name)
			}
			return true
		})
	})
	if !seen {
		t.Fatal("no execute")
	}
}

// TestSpecsOnlyInPlan: one package describes opcodes.
func TestSpecsOnlyInPlan(t *testing.T) {
	m := module(t)
	for dir, p := range m.pkgs {
		if dir == "internal/plan" {
			continue
		}
		for _, f := range p.files {
			ast.Inspect(f, func(n ast.Node) bool {
				if l, ok := n.(*ast.CompositeLit); ok {
					if typ := p.info.TypeOf(l); typ != nil && isNamed(typ, "internal/plan", "OpSpec") {
						t.Errorf("%s: a description of an opcode outside package plan", m.fset.Position(l.Pos()))
					}
				}
				return true
			})
		}
	}
}

// TestCompiledOnce: plans are compiled when a model is opened, payloads are
// decoded when a plan is bound, which one function does for all executors, and
// neither happens again.
func TestCompiledOnce(t *testing.T) {
	m := module(t)
	for _, c := range []struct {
		dir, name string
		users     []string
	}{
		{"internal/plan/pass", "Compile", []string{"internal/model/compile finish"}},
		{"internal/plan", "Bind", []string{"internal/exec Executor.bindPlan", "internal/tape New"}},
		{"internal/plan", "ParamBlock.Decode", []string{"internal/exec Tower.read"}}, // sizes of images, which buffers need before anything is bound,
	} {
		want := m.member(t, c.dir, c.name)
		var got []string
		for dir, p := range m.pkgs {
			if dir == "internal/plan" || dir == "internal/plan/pass" {
				continue
			}
			for _, user := range p.usersOf(is(want)) {
				got = append(got, dir+" "+user)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, c.users) {
			t.Errorf("%s.%s is used by %q, want %q", c.dir, c.name, got, c.users)
		}
	}
}

// TestStatesOnlyInAdapters: the bytes of a state are read by the adapters of
// the opcodes that own it, and with -tags invariants by what sees whether others were
// written. The executor checks that they are there; who schedules hands them on.
func TestStatesOnlyInAdapters(t *testing.T) {
	m := module(t)
	pages := m.member(t, "internal/exec", "Run.Pages")
	for _, user := range m.pkg(t, "internal/exec").usersOf(is(pages)) {
		owner, _, _ := strings.Cut(user, ".")
		if user != "Executor.checkPages" && !slices.Contains([]string{"attention", "latent", "sectionOf", "guard"}, owner) {
			t.Errorf("%s reads pages", user)
		}
	}
	// Where a section is, is asked of the accessors that compare its type and size with
	// what will be read.
	sections := m.member(t, "internal/plan", "StateDescriptor.Sections")
	if got := m.pkg(t, "internal/exec").usersOf(is(sections)); !slices.Equal(got, []string{"Bind.findSection"}) {
		t.Errorf("%q find sections, want the accessor alone", got)
	}
}

// TestSchedulerKnowsNoKinds: scheduling depends on descriptors. No name in it
// refers to a kind of state other than pages, so a new kind changes no struct.
func TestSchedulerKnowsNoKinds(t *testing.T) {
	m := module(t)
	kinds := []string{"recurrent", "mamba", "ssm", "conv", "delta", "cross"}
	for _, dir := range []string{"internal/sched", "internal/memory/kv"} {
		for _, f := range m.pkg(t, dir).files {
			ast.Inspect(f, func(n ast.Node) bool {
				id, ok := n.(*ast.Ident)
				if !ok {
					return true
				}
				for _, k := range kinds {
					if strings.Contains(strings.ToLower(id.Name), k) {
						t.Errorf("%s: %s names a kind of state", m.fset.Position(id.Pos()), id.Name)
					}
				}
				return true
			})
		}
	}
}
