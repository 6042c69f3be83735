package flow

import (
	"cmp"
	"slices"

	"atenia/flow/node"
)

// A unit is one firing in the static list: preparation, the node's call, and follow-up, with all tensors bound. See
// the package's glossary.
type unit[F node.Float] struct {
	*process[F]
	tokens  int
	level   int
	cohort  int // index into the session's groups
	bound   *node.Call[F]
	sources []node.Tensor[F] // modulation sources, in the order of Mods
	needs   []*unit[F]       // units that must run earlier
	before  []func()
	run     func() // nil: only before and after
	heat    func() // accounts the reported heat; nil when it is constant
	called  func() // the same for a call that may be skipped
	after   []func()
}

// compile builds the static list from the order of the rehearsal's last block:
//
//	order      osc 64   up 64   gain1 256   gain2 256   out 64       firings of a block
//	  │ unit: tensors and parameters bound
//	units      osc      up      gain1       gain2       out
//	  │ needs: what must run earlier; cohorts, align: units that may fuse get the same level
//	levels     osc │ up │ gain1 gain2 │ out                          gain1 and gain2 are one cohort
//	  │ fuse: units of one cohort and level become one call
//	jobs       osc │ up │ gain1+gain2 │ out
//	  │ partition: jobs that need nothing of each other, one strand per thread
//	sections   ┌ strand a ┐   ┌ strand a ┐
//	           └ strand b ┘ ─▶└──────────┘ ─▶ …                      threads meet at each arrow
//
// The package's glossary defines the words.
// Processes whose firing depends on data, and all downstream of them, stay on the dynamic path and are polled in every
// block.
func (s *Session[F]) compile() {
	st := &s.static
	st.order = slices.DeleteFunc(st.order, func(v visit) bool { return s.procs[v.proc].polled })
	for _, p := range s.order {
		if p.polled {
			st.polled = append(st.polled, p)
		} else {
			st.procs = append(st.procs, p)
		}
	}
	s.findDirect()
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
	jobs := s.fuse(units)
	for _, t := range jobs {
		st.list = append(st.list, t.list...)
	}
	s.partition(jobs)
	st.ready = true
}

// findDirect finds the readers that can read each block where its writer left it: nothing is queued on their edges
// between blocks, and both ends fire whole blocks. Such a reader needs no copy through the ring.
func (s *Session[F]) findDirect() {
	calls := make([]int, len(s.procs))
	for _, v := range s.static.order {
		calls[v.proc]++
	}
	for _, r := range s.readers {
		src, dst := r.edge.Src, r.edge.Dst
		r.direct = !s.procs[dst].polled && calls[src] == 1 && calls[dst] == 1 && r.cursor-r.prefill == r.from.wrote
		r.from.kept = r.from.kept || !r.direct
	}
	for _, p := range s.static.polled {
		for i := range p.waits { // barriers count the frames written to the ring
			p.waits[i].on.from.kept = true
		}
	}
}

// unit binds one firing of p for t tokens.
func (s *Session[F]) unit(p *process[F], t int) *unit[F] {
	u := &unit[F]{process: p, tokens: t}
	b := &node.Call[F]{Tokens: t, Produced: t, Events: p.call.Events, Out: slices.Clone(p.call.Out), Param: slices.Clone(p.call.Param)}
	u.bound = b
	for i := range b.Out {
		b.Out[i].N = t * p.Spec.Prod[i]
	}
	for _, r := range p.all {
		x := r.from.block
		switch n := int64(t * r.cons); {
		case !r.direct:
			x = r.in
			u.before = append(u.before, func() { r.take(x.Data, x.N, x.N) })
		case r.from.kept: // the ring must not wait for a reader that does not use it
			u.after = append(u.after, func() { r.cursor += n })
		}
		x.N = t * r.cons
		if len(b.In) < len(p.in) {
			b.In = append(b.In, x)
		} else {
			u.sources = append(u.sources, x)
		}
	}
	steady := s.bindParams(u)
	if p.listens {
		p.live = true
		u.before = append(u.before, func() { s.gather(p, p.n0, t) })
	}
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

// bindParams binds the parameters of a call and reports whether its heat is the same in every block.
func (s *Session[F]) bindParams(u *unit[F]) bool {
	p, t, steady := u.process, u.tokens, true
	for i := range p.params {
		pm, at := &p.params[i], &u.bound.Param[i]
		switch {
		case !pm.Filled:
			continue
		case pm.auto == nil && len(pm.Mods) == 0 && t == p.Tokens && p.n0%int64(pm.Base.N) == 0:
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

// bindCall returns the call itself. A [node.Binder] provides a closure, which cannot fail.
func (s *Session[F]) bindCall(u *unit[F], steady bool) func() {
	p, c := u.process, u.bound
	binder, ok := p.inst.(node.Binder[F])
	switch {
	case ok:
		f := s.timed([]*unit[F]{u}, binder.Bind(c))
		s.bindHeat(u, steady)
		if s.opt.Scan != ScanAll {
			return f
		}
		return func() {
			f()
			s.scan(p, c)
		}
	case p.inst == nil:
		s.bindHeat(u, steady)
		return nil
	}
	p.live = true
	return func() { s.forward(p, c, p.n0) }
}

// bindHeat arranges for a call's heat to be counted, once for all blocks if it is constant.
func (s *Session[F]) bindHeat(u *unit[F], steady bool) {
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

// needs finds the earlier units each unit depends on: those of its own process, of its producers, and of contributors
// to its barriers.
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

// buildRecorded builds the list that runs while a recorder is set: the same calls without fusion, each reported to the
// recorder.
func (s *Session[F]) buildRecorded() {
	st := &s.static
	if !st.ready || st.recorded != nil {
		return
	}
	for _, u := range st.units {
		p, c := u.process, u.bound
		st.recorded = append(st.recorded, u.before...)
		st.recorded = append(st.recorded, s.recordedCall(u))
		st.recorded = append(st.recorded, u.after...)
		if !p.live {
			st.recorded = append(st.recorded, func() { p.n0 += int64(c.Tokens) })
		}
	}
}

// recordedCall is a call that is reported to the recorder. If the frames are on Go's heap, outputs are written
// straight into the recorder's memory, which saves a copy.
func (s *Session[F]) recordedCall(u *unit[F]) func() {
	p, c := u.process, *u.bound
	c.In, c.Out = slices.Clone(c.In), slices.Clone(c.Out)
	var moving []int
	for i, o := range p.out {
		if s.opt.Memory == nil && p.inst != nil && o.redirectable() {
			moving = append(moving, i)
		}
	}
	return func() {
		for i, r := range p.in {
			if r.direct {
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
