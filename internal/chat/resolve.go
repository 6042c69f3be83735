package chat

import (
	"fmt"
	"slices"
)

const (
	maxDepth = 1000      // nodes inside each other
	maxWork  = 1_000_000 // names copied while resolving
)

// A resolver gives every name of a tree its slot, every filter and test its
// function, and refuses what the compiler of Jinja refuses.
type resolver struct {
	name   string
	work   int
	blocks map[string]*blockStmt
	order  []*blockStmt
	err    error
}

// A place is where the resolver stands in the tree.
type place struct {
	sym  *symbols
	top  bool // assignments are visible to blocks
	soft bool // inside if: unknown filters are an error only when reached
	loop bool // break and continue have a loop
}

func (p place) inner(sym *symbols) place { return place{sym: sym, loop: p.loop} }

func (r *resolver) errorAt(at pos, construct, format string, args ...any) {
	if r.err == nil {
		r.err = &SyntaxError{Name: r.name, Line: int(at.line), Col: int(at.col), Construct: construct, Msg: fmt.Sprintf(format, args...)}
	}
}

// A program is a resolved template.
type program struct {
	body   []stmt
	fn     *funcInfo
	scope  entry
	self   int // slot of self, or -1
	blocks map[string]*blockStmt
}

func resolve(name string, body []stmt) (*program, error) {
	r := &resolver{name: name, blocks: map[string]*blockStmt{}}
	for _, s := range body {
		if n := tooDeep(s, maxDepth); n != nil {
			r.errorAt(nodePos(n), "nesting", "nested deeper than %d", maxDepth)
			return nil, r.err
		}
	}
	r.findBlocks(body)
	p := &program{body: body, fn: newFunc(nil), self: -1, blocks: r.blocks}
	sym := newSymbols(nil, p.fn)
	if undeclared(body, "self")["self"] {
		p.self = sym.param("self")
	}
	for _, s := range body {
		r.scan(sym, s)
	}
	r.body(place{sym: sym, top: true}, body)
	p.scope = entryOf(sym)
	for _, b := range r.order {
		r.block(b)
	}
	if r.work > maxWork {
		r.errorAt(pos{1, 1}, "size", "too many names and branches")
	}
	return p, r.err
}

func newFunc(parent *funcInfo) *funcInfo { return &funcInfo{parent: parent, ids: map[slotID]int{}} }

// entryOf lists the loads of a scope; it is called once the scope's names are complete.
func entryOf(s *symbols) entry {
	var e entry
	for slot, l := range s.loads {
		e.clear = append(e.clear, slot)
		if l.kind == loadParam {
			continue
		}
		sl := slotLoad{slot: slot, kind: l.kind, name: l.name}
		if l.kind == loadAlias {
			sl.from = refFrom(s.fn, l.from)
		}
		e.loads = append(e.loads, sl)
	}
	slices.Sort(e.clear)
	slices.SortFunc(e.loads, func(a, b slotLoad) int { return a.slot - b.slot })
	return e
}

func refFrom(fn *funcInfo, v varRef) slotRef {
	hops := 0
	for fn != v.fn {
		fn = fn.parent
		hops++
	}
	return slotRef{hops, v.slot}
}

func (r *resolver) findBlocks(body []stmt) {
	var visit func(any)
	visit = func(n any) {
		if b, ok := n.(*blockStmt); ok {
			if r.blocks[b.name] != nil {
				r.errorAt(b.pos, "block", "block %q defined twice", b.name)
			}
			r.blocks[b.name] = b
			r.order = append(r.order, b)
		}
		children(n, visit)
	}
	each(body, visit)
}

func (r *resolver) block(b *blockStmt) {
	b.fn = newFunc(nil)
	sym := newSymbols(nil, b.fn)
	found := undeclared(b.body, "self", "super")
	if found["self"] {
		b.self = sym.param("self")
	}
	if found["super"] {
		b.super = sym.param("super")
	}
	for _, s := range b.body {
		r.scan(sym, s)
	}
	r.body(place{sym: sym}, b.body)
	b.scope = entryOf(sym)
}

// ref resolves a name; scan has seen it, except in the filter of a set block,
// whose names Jinja forgets.
func (r *resolver) ref(p place, name string) slotRef {
	v, ok := p.sym.find(name)
	if !ok {
		p.sym.load(name)
		v, _ = p.sym.find(name)
	}
	return refFrom(p.sym.fn, v)
}

func (r *resolver) target(p place, t *target) {
	if t.items == nil {
		t.ref = r.ref(p, t.name)
	}
	for _, it := range t.items {
		r.target(p, it)
	}
}

func (r *resolver) body(p place, body []stmt) {
	for _, s := range body {
		if r.err != nil || r.work > maxWork {
			return
		}
		r.stmt(p, s)
	}
}

func (r *resolver) stmt(p place, s stmt) {
	switch s := s.(type) {
	case *outputStmt:
		if s.x != nil {
			r.expr(p, s.x)
		}
	case *ifStmt:
		q := p
		q.soft = true
		for i, b := range s.bodies {
			if i < len(s.tests) {
				r.expr(q, s.tests[i])
			}
			r.body(q, b)
		}
	case *forStmt:
		r.forLoop(p, s)
	case *assignStmt:
		s.export = p.top
		r.target(p, s.target)
		r.expr(p, s.x)
	case *assignBlockStmt:
		s.export = p.top
		q := p.inner(newSymbols(p.sym, p.sym.fn))
		r.scanAll(q.sym, s.body)
		r.body(q, s.body)
		r.target(p, s.target)
		if s.filter != nil {
			r.expr(q, s.filter)
		}
		s.scope = entryOf(q.sym)
	case *filterBlockStmt:
		q := p.inner(newSymbols(p.sym, p.sym.fn))
		r.scanAll(q.sym, s.body)
		r.scan(q.sym, s.filter)
		r.body(q, s.body)
		r.expr(q, s.filter)
		s.scope = entryOf(q.sym)
	case *withStmt:
		q := p.inner(newSymbols(p.sym, p.sym.fn))
		for _, t := range s.targets {
			t.names(func(t *target) { q.sym.param(t.name) })
		}
		r.scanAll(q.sym, s.body)
		for i, t := range s.targets {
			r.target(q, t)
			r.expr(p, s.values[i])
		}
		r.body(q, s.body)
		s.scope = entryOf(q.sym)
	case *macroStmt:
		r.macro(p, s.def)
		s.export = p.top
		s.ref = r.ref(p, s.def.name)
	case *callStmt:
		r.macro(p, s.def)
		r.expr(p, s.call)
	case *generationStmt:
		r.macro(p, s.def)
	case *blockStmt:
		if s.scoped {
			s.locals = map[string]slotRef{}
			for sym := p.sym; sym != nil; sym = sym.parent {
				for name := range sym.stores {
					s.locals[name] = r.ref(p, name)
				}
			}
		}
	case *scopeStmt:
		q := p.inner(newSymbols(p.sym, p.sym.fn))
		r.scanAll(q.sym, s.body)
		r.body(q, s.body)
		s.scope = entryOf(q.sym)
	case *loopCtlStmt:
		if !p.loop {
			name := "break"
			if s.flow == flowContinue {
				name = "continue"
			}
			r.errorAt(s.pos, name, "%q outside of a loop", name)
		}
	}
}

func (r *resolver) scanAll(s *symbols, body []stmt) {
	for _, n := range body {
		r.scan(s, n)
	}
}

func (r *resolver) forLoop(p place, s *forStmt) {
	fn := p.sym.fn
	if s.recursive {
		s.fn = newFunc(fn)
		fn = s.fn
	}
	r.keepLoop(s)
	extended := s.recursive || undeclared(s.body, "loop")["loop"] || hasScopedBlock(s)
	q := place{sym: newSymbols(p.sym, fn), loop: true}
	if extended {
		s.loopSlot = q.sym.param("loop")
	}
	if s.test != nil {
		s.testFn = newFunc(p.sym.fn)
		t := place{sym: newSymbols(p.sym, s.testFn)}
		s.testTarget = s.target.clone()
		s.testTarget.names(func(n *target) { t.sym.param(n.name) })
		r.scan(t.sym, s.test)
		r.target(t, s.testTarget)
		r.expr(t, s.test)
		s.testEntry = entryOf(t.sym)
	}
	s.target.names(func(n *target) { q.sym.param(n.name) })
	r.scanAll(q.sym, s.body)
	r.target(q, s.target)
	r.expr(p, s.iter)
	r.body(q, s.body)
	s.body0 = entryOf(q.sym)
	if s.els != nil {
		e := p.inner(newSymbols(p.sym, fn))
		if s.recursive {
			e.loop = false
		}
		r.scanAll(e.sym, s.els)
		r.body(e, s.els)
		s.els0 = entryOf(e.sym)
	}
}

// keepLoop refuses assignments to loop anywhere in a for.
func (r *resolver) keepLoop(s *forStmt) {
	check := func(t *target) {
		if t.name == "loop" {
			r.errorAt(t.pos, "loop", "cannot assign to the special variable loop inside a for")
		}
	}
	var visit func(any)
	visit = func(n any) {
		switch n := n.(type) {
		case *forStmt:
			n.target.names(check)
		case *assignStmt:
			n.target.names(check)
		case *assignBlockStmt:
			n.target.names(check)
		}
		children(n, visit)
	}
	visit(s)
}

func hasScopedBlock(s *forStmt) bool {
	found := false
	var visit func(any)
	visit = func(n any) {
		if b, ok := n.(*blockStmt); ok && b.scoped {
			found = true
		}
		children(n, visit)
	}
	stmtChildren(s, visit)
	return found
}

func (r *resolver) macro(p place, d *macroDef) {
	d.fn = newFunc(p.sym.fn)
	q := place{sym: newSymbols(p.sym, d.fn)}
	own := map[string]bool{}
	for i, t := range d.params {
		q.sym.param(t.name)
		own[t.name] = true
		if t.name == "caller" {
			d.explicitCaller = true
			if i < len(d.params)-len(d.defaults) && undeclared(d.body, "caller")["caller"] {
				r.errorAt(t.pos, "caller", `the parameter "caller" must have a default`)
			}
		}
	}
	for _, x := range d.defaults {
		r.scan(q.sym, x)
	}
	r.scanAll(q.sym, d.body)
	special := undeclared(d.body, "caller", "kwargs", "varargs")
	if special["caller"] && !own["caller"] {
		d.caller = q.sym.param("caller")
	}
	if special["kwargs"] && !own["kwargs"] {
		d.kwargs = q.sym.param("kwargs")
	}
	if special["varargs"] && !own["varargs"] {
		d.varArg = q.sym.param("varargs")
	}
	for _, t := range d.params {
		r.target(q, t)
	}
	for _, x := range d.defaults {
		r.expr(q, x)
	}
	r.body(q, d.body)
	d.scope = entryOf(q.sym)
}

func (r *resolver) expr(p place, x expr) {
	switch n := x.(type) {
	case *nameExpr:
		n.ref = r.ref(p, n.name)
		return
	case *condExpr:
		p.soft = true
	case *filterExpr:
		n.fn = filters[n.name]
		r.known(p, n.pos, "filter", n.name, n.fn)
	case *testExpr:
		n.fn = tests[n.name]
		r.known(p, n.pos, "test", n.name, n.fn)
	}
	exprChildren(x, func(c any) { r.expr(p, c.(expr)) })
}

func (r *resolver) known(p place, at pos, kind, name string, f *filter) {
	if f == nil && !p.soft {
		r.errorAt(at, name, "%s", unknownName(kind, name))
	}
}

func unknownName(kind, name string) string {
	if why, ok := refusedFilters[name]; ok && kind == "filter" {
		return fmt.Sprintf("the filter %q is not supported: %s", name, why)
	}
	return fmt.Sprintf("no %s named %q", kind, name)
}
