package flow

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"atenia/flow/graph"
	"atenia/flow/node"
)

// build makes the processes and channels of a linked graph.
func (s *Session[F]) build() error {
	l := s.link
	s.procs = make([]*process[F], len(l.Nodes))
	s.seen = make([]bool, len(l.Nodes))
	names := make([]string, len(l.Nodes))
	for i := range l.Nodes {
		n := &l.Nodes[i]
		names[i] = n.Name
		p := &process[F]{LinkedNode: n, first: -1, slice: l.Slice(i), out: make([]*channel[F], len(n.OutShape))}
		if n.PDC == "trim" {
			p.trimmed = n.DeclaredDelay
		}
		for o, sh := range n.OutShape {
			frames := n.Tokens * n.Spec.Prod[o]
			p.out[o] = &channel[F]{ring: frameRing[F]{Rows: sh.B * sh.C}, frames: frames, name: n.Name + "." + n.Spec.Outs[o], block: s.tensor(n.Name+"."+n.Spec.Outs[o], sh, frames)}
		}
		s.procs[i] = p
	}
	s.meter = newMeter(names)
	if s.opt.Timing || s.opt.Limit > 0 {
		s.watch = newWatch(len(names), max(int64(s.opt.Limit), 0), int(math.Ceil(s.opt.SampleRate/float64(l.BlockFrames))), s.opt.clock)
	}
	s.wire()
	for _, p := range s.procs {
		if err := s.instance(p); err != nil {
			return err
		}
	}
	if s.arenaErr != nil {
		return fmt.Errorf("flow: %w", s.arenaErr)
	}
	if err := s.checkAutomate(); err != nil {
		return err
	}
	s.order = make([]*process[F], len(l.Order))
	for i, v := range l.Order {
		s.order[i] = s.procs[v]
		if s.procs[v].probe() {
			s.probes = append(s.probes, s.procs[v])
		}
	}
	s.teams()
	if s.opt.Schedule != 0 {
		s.dice = rand.New(rand.NewPCG(s.opt.Schedule, 0))
	}
	return nil
}

// wire makes the readers, gates and barriers, and finds the processes that are polled in every block: those whose
// firing is data dependent, all downstream of them, and those before them that a full channel may keep waiting.
func (s *Session[F]) wire() {
	l := s.link
	s.readers = make([]*reader[F], len(l.Edges))
	for i := range l.Edges {
		e := &l.Edges[i]
		src, dst := s.procs[e.Src], s.procs[e.Dst]
		c := src.out[e.SrcPort]
		s.readers[i] = &reader[F]{
			edge: e, from: c, hold: int64(e.Hold), prefill: int64(e.Prefill), cons: e.Cons, limit: int64(e.CapacityFrames),
			in: s.tensor(c.name+" to "+dst.Name, graph.Shape{B: c.block.B, C: c.block.C}, dst.Tokens*e.Cons),
		}
		c.readers = append(c.readers, s.readers[i])
		for _, id := range e.Gates {
			dst.gates = append(dst.gates, s.gate(id)...)
		}
	}
	for _, p := range s.procs {
		for _, e := range p.In {
			p.in = append(p.in, s.readers[e])
		}
		for _, e := range p.Mods {
			p.mods = append(p.mods, s.readers[e])
		}
		p.all = append(slices.Clone(p.in), p.mods...)
		p.polled = len(p.gates) > 0 || p.Spec.Dynamic
	}
	for _, c := range l.Control {
		p := s.procs[c.Dst]
		p.waits = append(p.waits, newWait(s.readers[c.Edge], p, l.BlockFrames))
	}
	for more := true; more; {
		more = false
		for _, v := range l.Order {
			p := s.procs[v]
			if p.polled {
				continue
			}
			behind := func(r *reader[F]) bool { return s.procs[r.edge.Src].polled }
			before := func(r *reader[F]) bool { return r.limit > 0 && s.procs[r.edge.Dst].polled }
			p.polled = slices.ContainsFunc(p.all, behind) || slices.ContainsFunc(p.waits, func(w wait[F]) bool { return behind(w.on) }) ||
				slices.ContainsFunc(p.out, func(c *channel[F]) bool { return slices.ContainsFunc(c.readers, before) })
			more = more || p.polled
		}
	}
}

// gate returns the gate of an id, none for a barrier, which is made of control edges instead.
func (s *Session[F]) gate(id int) []*gate {
	if i := slices.IndexFunc(s.gates, func(g *gate) bool { return g.ID == id }); i >= 0 {
		return s.gates[i : i+1]
	}
	for _, g := range s.link.Plan.Gates {
		if g.ID == id && g.Kind != graph.Barrier {
			s.gates = append(s.gates, &gate{Gate: g})
			s.thermal.on = s.thermal.on || g.Kind == graph.Thermal
			return s.gates[len(s.gates)-1:]
		}
	}
	return nil
}

// instance makes the node of a process, its parameters and its call.
func (s *Session[F]) instance(p *process[F]) error {
	for i := range p.Spec.Params {
		p.params = append(p.params, newParamValue[F](&p.Spec.Params[i]))
	}
	s.automated(p)
	for i, r := range p.mods {
		e := &s.link.Edges[p.Mods[i]]
		v := &p.params[e.Param]
		v.Mods = append(v.Mods, modulation[F]{Place: i, From: r.in, Mul: e.Mode == "mul", Scale: F(e.Scale), Channel: e.Channel})
	}
	for _, r := range p.mods {
		p.sources = append(p.sources, r.in)
	}
	c := &p.call
	for _, r := range p.in {
		c.In = append(c.In, r.in)
	}
	for _, o := range p.out {
		c.Out = append(c.Out, o.block)
	}
	for i := range p.params {
		c.Param = append(c.Param, s.valueOf(p, i))
	}
	if p.Spec.Endpoint != graph.Inner {
		return nil
	}
	inst, err := node.New[F](s.opt.Catalog, node.Config{SampleRate: s.opt.SampleRate, MaxTokens: p.Tokens, Node: p.LinkedNode, Training: s.opt.Training})
	if err != nil {
		return fmt.Errorf("flow: %w", err)
	}
	p.inst = inst
	s.listen(p)
	return nil
}

// valueOf is a call's view of a parameter: the value itself if that is constant, else a buffer filled before each
// call.
func (s *Session[F]) valueOf(p *process[F], i int) node.Param[F] {
	m := &p.params[i]
	if m.Table || len(m.Mods) == 0 && m.Base.N == 1 && m.auto == nil {
		return node.Param[F]{Tensor: m.Base}
	}
	m.Filled = true
	sh := graph.Shape{B: m.Base.B, C: m.Base.C}
	for k := range m.Mods {
		sh.B, sh.C = max(sh.B, m.Mods[k].From.B), max(sh.C, p.Rows.C)
	}
	return node.Param[F]{Tensor: s.tensor(p.Name+"."+p.Spec.Params[i].Name, sh, p.Tokens), Framed: true}
}
