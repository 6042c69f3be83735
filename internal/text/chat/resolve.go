package chat

import (
	"fmt"
	"slices"
)

const (
	maxNesting = 1000      // nodes inside each other
	maxWork    = 1_000_000 // names copied while resolving
)

// A resolver gives every name of a tree its slot, every filter and test its
// function, and rejects what Jinja's compiler rejects.
type resolver struct {
	name   string
	lib    *library
	work   int
	blocks map[string]*blockStmt
	order  []*blockStmt
	err    error
}

// A library holds the filters and tests that templates may use.
type library struct {
	Filters, Tests map[string]*functionType
	Unknown        func(kind, name string) string // why a name is in neither
}

// A place is the resolver's position in the tree.
type place struct {
	sym  *symbols
	top  bool // assignments are visible to blocks
	soft bool // inside if: unknown filters are an error only when reached
	loop bool // break and continue have a loop
}

func (p place) inner(sym *symbols) place { return place{sym: sym, loop: p.loop} }

func (r *resolver) errorAt(at Pos, construct, format string, args ...any) {
	if r.err == nil {
		r.err = &SyntaxError{Name: r.name, Line: int(at.Line), Col: int(at.Col), Construct: construct, Msg: fmt.Sprintf(format, args...)}
	}
}

// A program is a resolved template.
type program struct {
	Body   []stmt
	Fn     *funcInfo
	Scope  entry
	Self   int // slot of self, or -1
	Blocks map[string]*blockStmt
}

// resolve turns a tree into a program.
func resolve(name string, body []stmt, lib *library) (*program, error) {
	r := &resolver{name: name, lib: lib, blocks: map[string]*blockStmt{}}
	for _, s := range body {
		if n := tooDeep(s, maxNesting); n != nil {
			r.errorAt(posOf(n), "nesting", "nested deeper than %d", maxNesting)
			return nil, r.err
		}
	}
	r.findBlocks(body)
	p := &program{Body: body, Fn: newFunc(nil), Self: -1, Blocks: r.blocks}
	sym := newSymbols(nil, p.Fn)
	if undeclared(body, "self")["self"] {
		p.Self = sym.param("self")
	}
	for _, s := range body {
		r.scan(sym, s)
	}
	r.body(place{sym: sym, top: true}, body)
	p.Scope = entryOf(sym)
	for _, b := range r.order {
		r.block(b)
	}
	if r.work > maxWork {
		r.errorAt(Pos{1, 1}, "size", "too many names and branches")
	}
	return p, r.err
}

func newFunc(parent *funcInfo) *funcInfo { return &funcInfo{parent: parent, ids: map[slotID]int{}} }

// entryOf lists the loads of a scope; it is called once the scope's names are complete.
func entryOf(s *symbols) entry {
	var e entry
	for slot, l := range s.loads {
		e.Clear = append(e.Clear, slot)
		if l.kind == loadParam {
			continue
		}
		sl := slotLoad{Slot: slot, Kind: l.kind, Name: l.name}
		if l.kind == loadAlias {
			sl.From = refFrom(s.fn, l.from)
		}
		e.Loads = append(e.Loads, sl)
	}
	slices.Sort(e.Clear)
	slices.SortFunc(e.Loads, func(a, b slotLoad) int { return a.Slot - b.Slot })
	return e
}

func refFrom(fn *funcInfo, v varRef) SlotRef {
	hops := 0
	for fn != v.fn {
		fn = fn.parent
		hops++
	}
	return SlotRef{hops, v.slot}
}

func (r *resolver) findBlocks(body []stmt) {
	var visit func(any)
	visit = func(n any) {
		if b, ok := n.(*blockStmt); ok {
			if r.blocks[b.Name] != nil {
				r.errorAt(b.Pos, "block", "block %q defined twice", b.Name)
			}
			r.blocks[b.Name] = b
			r.order = append(r.order, b)
		}
		children(n, visit)
	}
	each(body, visit)
}

func (r *resolver) block(b *blockStmt) {
	b.Fn = newFunc(nil)
	sym := newSymbols(nil, b.Fn)
	found := undeclared(b.Body, "self", "super")
	if found["self"] {
		b.Self = sym.param("self")
	}
	if found["super"] {
		b.Super = sym.param("super")
	}
	for _, s := range b.Body {
		r.scan(sym, s)
	}
	r.body(place{sym: sym}, b.Body)
	b.Scope = entryOf(sym)
}

// ref resolves a name; scan has seen it, except in the filter of a set block,
// whose names Jinja forgets.
func (r *resolver) ref(p place, name string) SlotRef {
	v, ok := p.sym.find(name)
	if !ok {
		p.sym.load(name)
		v, _ = p.sym.find(name)
	}
	return refFrom(p.sym.fn, v)
}

func (r *resolver) target(p place, t *Target) {
	if t.Items == nil {
		t.Ref = r.ref(p, t.Name)
	}
	for _, it := range t.Items {
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
		if s.X != nil {
			r.expr(p, s.X)
		}
	case *ifStmt:
		q := p
		q.soft = true
		for i, b := range s.Bodies {
			if i < len(s.Tests) {
				r.expr(q, s.Tests[i])
			}
			r.body(q, b)
		}
	case *forStmt:
		r.forLoop(p, s)
	case *assignStmt:
		s.Export = p.top
		r.target(p, s.Target)
		r.expr(p, s.X)
	case *assignBlockStmt:
		s.Export = p.top
		q := p.inner(newSymbols(p.sym, p.sym.fn))
		r.scanAll(q.sym, s.Body)
		r.body(q, s.Body)
		r.target(p, s.Target)
		if s.Filter != nil {
			r.expr(q, s.Filter)
		}
		s.Scope = entryOf(q.sym)
	case *filterBlockStmt:
		q := p.inner(newSymbols(p.sym, p.sym.fn))
		r.scanAll(q.sym, s.Body)
		r.scan(q.sym, s.Filter)
		r.body(q, s.Body)
		r.expr(q, s.Filter)
		s.Scope = entryOf(q.sym)
	case *withStmt:
		q := p.inner(newSymbols(p.sym, p.sym.fn))
		for _, t := range s.Targets {
			t.names(func(t *Target) { q.sym.param(t.Name) })
		}
		r.scanAll(q.sym, s.Body)
		for i, t := range s.Targets {
			r.target(q, t)
			r.expr(p, s.Values[i])
		}
		r.body(q, s.Body)
		s.Scope = entryOf(q.sym)
	case *macroStmt:
		r.macro(p, s.Def)
		s.Export = p.top
		s.Ref = r.ref(p, s.Def.Name)
	case *callStmt:
		r.macro(p, s.Def)
		r.expr(p, s.Call)
	case *generationStmt:
		r.macro(p, s.Def)
	case *blockStmt:
		if s.Scoped {
			s.Locals = map[string]SlotRef{}
			for sym := p.sym; sym != nil; sym = sym.parent {
				for name := range sym.stores {
					s.Locals[name] = r.ref(p, name)
				}
			}
		}
	case *loopCtlStmt:
		if !p.loop {
			name := "break"
			if s.Flow == flowContinue {
				name = "continue"
			}
			r.errorAt(s.Pos, name, "%q outside of a loop", name)
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
	if s.Recursive {
		s.Fn = newFunc(fn)
		fn = s.Fn
	}
	r.keepLoop(s)
	extended := s.Recursive || undeclared(s.Body, "loop")["loop"] || hasScopedBlock(s)
	q := place{sym: newSymbols(p.sym, fn), loop: true}
	if extended {
		s.LoopSlot = q.sym.param("loop")
	}
	if s.Test != nil {
		s.TestFn = newFunc(p.sym.fn)
		t := place{sym: newSymbols(p.sym, s.TestFn)}
		s.TestTarget = s.Target.clone()
		s.TestTarget.names(func(n *Target) { t.sym.param(n.Name) })
		r.scan(t.sym, s.Test)
		r.target(t, s.TestTarget)
		r.expr(t, s.Test)
		s.TestEntry = entryOf(t.sym)
	}
	s.Target.names(func(n *Target) { q.sym.param(n.Name) })
	r.scanAll(q.sym, s.Body)
	r.target(q, s.Target)
	r.expr(p, s.Iter)
	r.body(q, s.Body)
	s.Body0 = entryOf(q.sym)
	if s.Els != nil {
		e := p.inner(newSymbols(p.sym, fn))
		if s.Recursive {
			e.loop = false
		}
		r.scanAll(e.sym, s.Els)
		r.body(e, s.Els)
		s.Els0 = entryOf(e.sym)
	}
}

// keepLoop rejects assignments to loop anywhere in a for.
func (r *resolver) keepLoop(s *forStmt) {
	check := func(t *Target) {
		if t.Name == "loop" {
			r.errorAt(t.Pos, "loop", "cannot assign to the special variable loop inside a for")
		}
	}
	var visit func(any)
	visit = func(n any) {
		switch n := n.(type) {
		case *forStmt:
			n.Target.names(check)
		case *assignStmt:
			n.Target.names(check)
		case *assignBlockStmt:
			n.Target.names(check)
		}
		children(n, visit)
	}
	visit(s)
}

func hasScopedBlock(s *forStmt) bool {
	found := false
	var visit func(any)
	visit = func(n any) {
		if b, ok := n.(*blockStmt); ok && b.Scoped {
			found = true
		}
		children(n, visit)
	}
	stmtChildren(s, visit)
	return found
}

func (r *resolver) macro(p place, d *macroDef) {
	d.Fn = newFunc(p.sym.fn)
	q := place{sym: newSymbols(p.sym, d.Fn)}
	own := map[string]bool{}
	for i, t := range d.Params {
		q.sym.param(t.Name)
		own[t.Name] = true
		if t.Name == "caller" {
			d.ExplicitCaller = true
			if i < len(d.Params)-len(d.Defaults) && undeclared(d.Body, "caller")["caller"] {
				r.errorAt(t.Pos, "caller", `the parameter "caller" must have a default`)
			}
		}
	}
	for _, x := range d.Defaults {
		r.scan(q.sym, x)
	}
	r.scanAll(q.sym, d.Body)
	special := undeclared(d.Body, "caller", "kwargs", "varargs")
	if special["caller"] && !own["caller"] {
		d.Caller = q.sym.param("caller")
	}
	if special["kwargs"] && !own["kwargs"] {
		d.Kwargs = q.sym.param("kwargs")
	}
	if special["varargs"] && !own["varargs"] {
		d.VarArg = q.sym.param("varargs")
	}
	for _, t := range d.Params {
		r.target(q, t)
	}
	for _, x := range d.Defaults {
		r.expr(q, x)
	}
	r.body(q, d.Body)
	d.Scope = entryOf(q.sym)
}

func (r *resolver) expr(p place, x Expr) {
	switch n := x.(type) {
	case *nameExpr:
		n.Ref = r.ref(p, n.Name)
		return
	case *condExpr:
		p.soft = true
	case *filterExpr:
		n.Fn = r.lib.Filters[n.Name]
		r.known(p, n.Pos, "filter", n.Name, n.Fn)
	case *testExpr:
		n.Fn = r.lib.Tests[n.Name]
		r.known(p, n.Pos, "test", n.Name, n.Fn)
	}
	exprChildren(x, func(c any) { r.expr(p, c.(Expr)) })
}

func (r *resolver) known(p place, at Pos, kind, name string, f *functionType) {
	if f == nil && !p.soft {
		r.errorAt(at, name, "%s", r.lib.Unknown(kind, name))
	}
}
