package lint

import (
	"crypto/sha256"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// statesFile has the designs of states that models have, and a hash of each struct of
// what schedules them.
const statesFile = "internal/lint/testdata/states.txt"

// schedulers are the packages that a new design of a state must not change.
var schedulers = []string{"internal/sched", "internal/memory/kv"}

// TestSchedulerStructs: a new design of a state is a model's literal and a descriptor.
// The file records the designs and the structs of the scheduler. A change that adds a
// design and alters a struct is refused, also with -update, which writes one or the
// other: what a design seems to need of the scheduler comes first, in a commit of its
// own, of use to the designs that are there. (Gated delta and RWKV-7 came in commits
// that touch none of these packages.) After a merge of two such changes, remove the
// file and write it anew.
//
//	go test ./internal/lint -run TestSchedulerStructs -update
func TestSchedulerStructs(t *testing.T) {
	m := module(t)
	designs, structs := stateDesigns(t, m), schedulerStructs(t, m)
	if len(designs) < 6 || len(structs) < 10 {
		t.Fatalf("%d designs and %d structs: the lint looks for something that is gone", len(designs), len(structs))
	}
	b, err := readFile(statesFile)
	if err != nil && !*update {
		t.Fatal(err)
	}
	text, changed := stateRecord(string(b), designs, structs)
	switch {
	case len(changed) > 1:
		t.Errorf("one change adds or removes a design of a state (%s) and alters structs of the scheduler: make two of it", strings.Join(changed, "; "))
	case len(changed) == 1 && *update:
		if err := os.WriteFile(statesFile, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	case len(changed) == 1:
		t.Errorf("%s; write it with -update", changed[0])
	}
	// No name of the scheduler depends on a kind: the constants are not used in it.
	plans := m.pkg(t, "internal/plan").types
	for _, dir := range schedulers {
		for id, o := range m.pkg(t, dir).info.Uses {
			if c, ok := o.(*types.Const); ok && c.Pkg() == plans && isNamed(c.Type(), "internal/plan", "StateKind") {
				t.Errorf("%s: the scheduler chooses by kind of state: %s", m.fset.Position(id.Pos()), c.Name())
			}
		}
	}
}

// TestStateRecord: either part of the record may change, both may not.
func TestStateRecord(t *testing.T) {
	a, b := []string{"one"}, []string{"one", "two"}
	x, y := map[string]string{"p.S": "11"}, map[string]string{"p.S": "22"}
	old, _ := stateRecord("", a, x)
	for _, c := range []struct {
		designs []string
		structs map[string]string
		changed int
	}{{a, x, 0}, {b, x, 1}, {a, y, 1}, {b, y, 2}} {
		if _, changed := stateRecord(old, c.designs, c.structs); len(changed) != c.changed {
			t.Errorf("%v %v: changed %q, want %d", c.designs, c.structs, changed, c.changed)
		}
	}
}

// stateRecord returns the record's text and which of its two parts differ from the
// old one.
func stateRecord(old string, designs []string, structs map[string]string) (text string, changed []string) {
	var parts [2]strings.Builder
	for _, d := range designs {
		fmt.Fprintf(&parts[0], "design %s\n", d)
	}
	for _, name := range slices.Sorted(maps.Keys(structs)) {
		fmt.Fprintf(&parts[1], "struct %s %s\n", name, structs[name])
	}
	for i, prefix := range []string{"design ", "struct "} {
		var lines []string
		for line := range strings.Lines(old) {
			if strings.HasPrefix(line, prefix) {
				lines = append(lines, line)
			}
		}
		want := slices.Collect(strings.Lines(parts[i].String()))
		if old == "" || slices.Equal(lines, want) {
			continue
		}
		var differ []string
		for _, line := range append(slices.Clone(want), lines...) {
			if slices.Contains(lines, line) != slices.Contains(want, line) {
				differ = append(differ, strings.TrimSpace(line))
			}
		}
		changed = append(changed, strings.Join(differ, ", "))
	}
	if old == "" {
		changed = []string{"there is no record"}
	}
	return parts[0].String() + parts[1].String(), changed
}

// stateDesigns returns the kinds of states and the mixers that have one of fixed size,
// from the compiler's table.
func stateDesigns(t *testing.T, m *lintModule) (designs []string) {
	t.Helper()
	scope := m.pkg(t, "internal/plan").types.Scope()
	for _, name := range scope.Names() {
		if c, ok := scope.Lookup(name).(*types.Const); ok && isNamed(c.Type(), "internal/plan", "StateKind") && !strings.HasPrefix(name, "Num") {
			designs = append(designs, name)
		}
	}
	for _, f := range m.pkg(t, "internal/model/compile").files {
		ast.Inspect(f, func(n ast.Node) bool {
			v, ok := n.(*ast.ValueSpec)
			if !ok || v.Names[0].Name != "stateful" || len(v.Values) != 1 {
				return true
			}
			for _, row := range v.Values[0].(*ast.CompositeLit).Elts {
				designs = append(designs, types.ExprString(row.(*ast.CompositeLit).Elts[0]))
			}
			return false
		})
	}
	slices.Sort(designs)
	return slices.Compact(designs)
}

// schedulerStructs returns a hash of the definition of every struct, by package and
// name. Comments and order in the file do not count.
func schedulerStructs(t *testing.T, m *lintModule) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, dir := range schedulers {
		p := m.pkg(t, dir)
		for _, f := range p.files {
			for _, d := range f.Decls {
				g, ok := d.(*ast.GenDecl)
				if !ok || g.Tok != token.TYPE {
					continue
				}
				for _, s := range g.Specs {
					if s := s.(*ast.TypeSpec); isStruct(s.Type) {
						sum := sha256.Sum256([]byte(types.ExprString(s.Type)))
						all[p.types.Name()+"."+s.Name.Name] = fmt.Sprintf("%x", sum[:8])
					}
				}
			}
		}
	}
	return all
}

func isStruct(x ast.Expr) bool {
	_, ok := x.(*ast.StructType)
	return ok
}
