package chat

// Variables are resolved at parse time, as in jinja2.idtracking: a name that a
// scope sets is the scope's own from its start, so that
//
//	{% macro m() %}{{ x }}{% endmacro %}{{ m() }}{% set x = 1 %}
//
// prints nothing even if the caller passed an x.

type loadKind int

const (
	loadParam     loadKind = iota // set from outside: arguments, loop targets
	loadResolve                   // looked up in the context
	loadAlias                     // starts with the value of an outer variable
	loadUndefined                 // starts without a value
)

// A varRef is a slot of a function.
type varRef struct {
	fn   *FuncInfo
	slot int
}

type load struct {
	kind loadKind
	from varRef
	name string
}

// symbols are the names of one scope.
type symbols struct {
	level  int
	parent *symbols
	fn     *FuncInfo
	refs   map[string]int // name → slot of fn
	loads  map[int]load
	stores map[string]bool
}

func newSymbols(parent *symbols, fn *FuncInfo) *symbols {
	s := &symbols{parent: parent, fn: fn, refs: map[string]int{}, loads: map[int]load{}, stores: map[string]bool{}}
	if parent != nil {
		s.level = parent.level + 1
	}
	return s
}

func (s *symbols) find(name string) (varRef, bool) {
	for ; s != nil; s = s.parent {
		if slot, ok := s.refs[name]; ok {
			return varRef{s.fn, slot}, true
		}
	}
	return varRef{}, false
}

func (s *symbols) define(name string, l load) int {
	slot := s.fn.slot(s.level, name)
	s.refs[name] = slot
	s.loads[slot] = l
	return slot
}

func (s *symbols) param(name string) int {
	s.stores[name] = true
	return s.define(name, load{kind: loadParam})
}

func (s *symbols) store(name string) {
	s.stores[name] = true
	if _, ok := s.refs[name]; ok {
		return
	}
	if outer, ok := s.parent.find(name); ok {
		s.define(name, load{kind: loadAlias, from: outer})
		return
	}
	s.define(name, load{kind: loadUndefined})
}

func (s *symbols) load(name string) {
	if _, ok := s.find(name); !ok {
		s.define(name, load{kind: loadResolve, name: name})
	}
}

func (s *symbols) copy() *symbols {
	c := newSymbols(nil, s.fn)
	c.level, c.parent = s.level, s.parent
	c.merge(s)
	return c
}

func (s *symbols) merge(o *symbols) {
	for k, v := range o.refs {
		s.refs[k] = v
	}
	for k, v := range o.loads {
		s.loads[k] = v
	}
	for k := range o.stores {
		s.stores[k] = true
	}
}

// join merges the symbols of the branches of an if, which began as copies of s and which it
// takes. A name that only one branch sets keeps, in the other, its meaning outside.
func (s *symbols) join(first *symbols, others ...*symbols) {
	var fresh []string // some twice
	for _, b := range append(others, first) {
		for n := range b.stores {
			if !s.stores[n] {
				fresh = append(fresh, n)
			}
		}
	}
	// Nothing of s is gone from a copy. Merged into s instead, names within many ifs would be
	// copied once for each.
	s.refs, s.loads, s.stores = first.refs, first.loads, first.stores
	for _, b := range others {
		s.merge(b)
	}
	for _, n := range fresh {
		slot := s.refs[n]
		if outer, ok := s.parent.find(n); ok {
			s.loads[slot] = load{kind: loadAlias, from: outer}
		} else {
			s.loads[slot] = load{kind: loadResolve, name: n}
		}
	}
}

// scan notes the names that a node reads and sets in the scope s; scopes
// inside the node are left alone.
func (r *resolver) scan(s *symbols, n any) {
	switch n := n.(type) {
	case *nameExpr:
		s.load(n.Name)
	case *Target:
		n.names(func(t *Target) { s.store(t.Name) })
		n.Refs(func(t *Target) { s.load(t.Name) })
	case *ifStmt:
		r.scanIf(s, n.Tests, n.Bodies)
	case *macroStmt:
		s.store(n.Def.Name)
	case *assignStmt:
		r.scan(s, n.X)
		r.scan(s, n.Target)
	case *assignBlockStmt:
		r.scan(s, n.Target)
	case *forStmt:
		r.scan(s, n.Iter)
	case *callStmt:
		r.scan(s, n.Call)
	case *filterBlockStmt:
		r.scan(s, n.Filter)
	case *withStmt:
		for _, v := range n.Values {
			r.scan(s, v)
		}
	case *generationStmt, *blockStmt:
	default:
		children(n, func(c any) { r.scan(s, c) })
	}
}

func (r *resolver) scanIf(s *symbols, tests []Expr, bodies [][]Stmt) {
	r.work += 4 * (len(s.refs) + 1) // copies
	if r.work > maxWork {
		return
	}
	r.scan(s, tests[0])
	branches := [3]*symbols{s.copy(), s.copy(), s.copy()}
	for _, n := range bodies[0] {
		r.scan(branches[0], n)
	}
	for i := 1; i < len(tests); i++ {
		r.scanIf(branches[1], tests[i:i+1], bodies[i:i+1])
	}
	if len(bodies) > len(tests) {
		for _, n := range bodies[len(tests)] {
			r.scan(branches[2], n)
		}
	}
	for _, b := range branches {
		r.work += len(b.refs) // merged
	}
	if r.work <= maxWork {
		s.join(branches[0], branches[1:]...)
	}
}
