package flow

import (
	"cmp"
	"slices"

	"atenia/flow/node"
)

// A unit is one call of the static list: what has to be done before it, the
// call, and what has to be done after.
type unit[F node.Float] struct {
	*process[F]
	tokens  int
	level   int
	cohort  int // index into the session's groups
	bound   *node.Call[F]
	sources []node.Tensor[F] // what modulates, in the order of Mods
	needs   []*unit[F]       // calls that come first
	before  []func()
	run     func() // nil: nothing but before and after
	heat    func() // counts what it reported; nil: that stays the same
	called  func() // the same, where the call may be left out
	after   []func()
}

// compile makes the static list from the order of the rehearsal's last block.
func (s *Session[F]) compile() {
	st := &s.static
	st.order = slices.DeleteFunc(st.order, func(v visit) bool { return s.procs[v.proc].asked })
	for _, p := range s.order {
		if p.asked {
			st.asked = append(st.asked, p)
		} else {
			st.procs = append(st.procs, p)
		}
	}
	s.directs()
	units := make([]*unit[F], len(st.order))
	for i, v := range st.order {
		units[i] = s.unit(s.procs[v.proc], v.tokens)
	}
	s.needs(units)
	s.cohorts(units)
	align(units, len(s.groups))
	slices.SortStableFunc(units, func(a, b *unit[F]) int {
		return cmp.Or(cmp.Compare(a.level, b.level), cmp.Compare(a.cohort, b.cohort))
	})
	for i, u := range units {
		st.order[i] = visit{u.Index, u.tokens}
	}
	st.units = units
	teams := s.fuse(units)
	for _, t := range teams {
		st.list = append(st.list, t.list...)
	}
	s.muster(teams)
	st.ready = true
}

// directs finds the readers that take each block where it was written: nothing
// waits on their edges between blocks, and both ends fire whole blocks.
func (s *Session[F]) directs() {
	calls := make([]int, len(s.procs))
	for _, v := range s.static.order {
		calls[v.proc]++
	}
	for _, r := range s.readers {
		src, dst := r.edge.Src, r.edge.Dst
		r.whole = !s.procs[dst].asked && calls[src] == 1 && calls[dst] == 1 && r.cursor-r.prefill == r.from.wrote
		r.from.kept = r.from.kept || !r.whole
		if s.procs[dst].asked && !s.procs[src].asked {
			s.static.border = append(s.static.border, r.from)
		}
	}
	for _, p := range s.static.asked {
		for i := range p.waits { // they count what is written
			p.waits[i].on.from.kept = true
		}
	}
}

// unit binds one call.
func (s *Session[F]) unit(p *process[F], t int) *unit[F] {
	u := &unit[F]{process: p, tokens: t}
	b := &node.Call[F]{Tokens: t, Produced: t, Out: slices.Clone(p.call.Out), Param: slices.Clone(p.call.Param)}
	u.bound = b
	for i := range b.Out {
		b.Out[i].N = t * p.Spec.Prod[i]
	}
	for _, r := range p.all {
		x := r.from.block
		if !r.whole {
			x = r.in
			u.before = append(u.before, func() { r.take(x.Data, x.N, x.N) })
		}
		x.N = t * r.cons
		if len(b.In) < len(p.in) {
			b.In = append(b.In, x)
		} else {
			u.sources = append(u.sources, x)
		}
	}
	steady := s.bindParams(u)
	u.run = s.bindCall(u, steady)
	for _, c := range p.out {
		if c.kept {
			n := t * c.frames / p.Tokens
			u.after = append(u.after, func() { c.store(0, n, n) })
		}
	}
	if p.live {
		u.after = append(u.after, func() { p.n0 += int64(t) })
	}
	return u
}

// bindParams binds the parameters of a call and reports whether its heat is the
// same in every block.
func (s *Session[F]) bindParams(u *unit[F]) bool {
	p, t, steady := u.process, u.tokens, true
	for i := range p.params {
		pm, at := &p.params[i], &u.bound.Param[i]
		switch {
		case !pm.Filled:
			continue
		case len(pm.Mods) == 0 && t == p.Tokens && p.n0%int64(pm.Base.N) == 0:
			at.Tensor = pm.Base
			continue
		}
		at.N = t
		p.live = true
		steady = steady && i < len(p.params)-1
		own := *pm
		own.Mods = slices.Clone(pm.Mods)
		for k := range own.Mods {
			own.Mods[k].From = u.sources[own.Mods[k].Place]
		}
		u.before = append(u.before, func() { own.Fill(at, p.n0, t) })
	}
	return steady
}

// bindCall returns the call itself. A node that offers a closure cannot fail.
func (s *Session[F]) bindCall(u *unit[F], steady bool) func() {
	p, c := u.process, u.bound
	binder, ok := p.inst.(node.Binder[F])
	switch {
	case ok:
		f := s.timed([]*unit[F]{u}, binder.Bind(c))
		s.heats(u, steady)
		if s.opt.Scan != ScanAll {
			return f
		}
		return func() {
			f()
			s.scan(p, c)
		}
	case p.inst == nil:
		s.heats(u, steady)
		return nil
	}
	p.live = true
	return func() { s.forward(p, c, p.n0) }
}

// heats has the heat of a call counted: once for all blocks when it stays.
func (s *Session[F]) heats(u *unit[F], steady bool) {
	p, c := u.process, u.bound
	heat := func() float64 {
		if p.SupportsV2 && p.inst != nil {
			return c.Heat
		}
		return node.HeatOf(c)
	}
	if steady && !s.watch.Limits() {
		s.static.constant = append(s.static.constant, report[F]{p.Index, heat(), c})
		return
	}
	add := func() { s.meter.Add(p.Index, Forward, heat()) }
	if s.watch.Limits() && p.inst != nil {
		u.called = add
	} else {
		u.heat = add
	}
}

// needs finds for each call those before it in the recorded order that it must
// follow: its own process's, those that feed it, and contributors to its
// barriers.
func (s *Session[F]) needs(units []*unit[F]) {
	last := make([]*unit[F], len(s.procs))
	for _, u := range units {
		behind := func(v int) {
			if last[v] != nil {
				u.needs = append(u.needs, last[v])
			}
		}
		behind(u.Index)
		for _, r := range u.all {
			behind(r.edge.Src)
		}
		for i := range u.waits {
			behind(u.waits[i].on.edge.Src)
		}
		last[u.Index] = u
	}
}

// tape makes the list of calls of which a recorder is told: the same calls, each
// by itself.
func (s *Session[F]) tape() {
	st := &s.static
	if !st.ready || st.taped != nil {
		return
	}
	for _, u := range st.units {
		p, c := u.process, u.bound
		st.taped = append(st.taped, u.before...)
		st.taped = append(st.taped, s.taped(u))
		st.taped = append(st.taped, u.after...)
		if !p.live {
			st.taped = append(st.taped, func() { p.n0 += int64(c.Tokens) })
		}
	}
}

// taped is a call of which a recorder is told. What a node of the host's own
// memory gives is written where the recorder wants it.
func (s *Session[F]) taped(u *unit[F]) func() {
	p, c := u.process, *u.bound
	c.In, c.Out = slices.Clone(c.In), slices.Clone(c.Out)
	var moving []int
	for i, o := range p.out {
		if s.opt.Memory == nil && p.inst != nil && o.moves() {
			moving = append(moving, i)
		}
	}
	return func() {
		for i, r := range p.in {
			if r.whole {
				c.In[i].Data = r.from.data()
			}
		}
		for _, i := range moving {
			o := p.out[i]
			o.now = s.rec.Room(p.Index, i, len(o.block.Data))
			c.Out[i].Data = o.data()
		}
		c.Frame0 = p.n0
		s.rec.Before(p.Index, p.inst, &c, u.sources, int(s.block))
		s.forward(p, &c, p.n0)
		s.rec.After(p.Index, &c, c.Heat)
	}
}
