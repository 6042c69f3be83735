package flow

import (
	"fmt"
	"slices"

	"atenia/flow/graph"
	"atenia/flow/node"
)

// Change makes the session go over to another plan at a frame of the base rate, with a linear cross-fade of fade base
// frames: before the frame its probes take what this plan gives, from frame+fade on what the other plan gives, and both
// in between. The stream does not depend on the block size.
//
//	            frame      frame+fade
//	this plan   ──────┬──────╲
//	                  │carry  ╳
//	other plan        └──────╱──────────
//
// A node that both plans have, of the same name, type, settings and shape, carries its state over, as it is at that
// frame, and the frames that feedback of its outputs still held (prefills). Parameters are those of the other plan.
// Cues of later frames go on, for nodes that are in this plan; so do [Session.Input] and [Session.Probe], whose nodes
// must be in both plans.
//
// Only graphs in which every node has computed each frame when its block ends can change: a hold, a gate, a trimmed
// delay or a node that may give fewer frames than it takes is an error of code [graph.Unsupported], because what is
// under way there depends on the blocks. So is a recording, since the change has no gradient. [Session.Step] ignores
// the change, which allocates. Another change may follow when the fade has ended.
func (s *Session[F]) Change(frame, fade int64, to *graph.Plan) error {
	if h := s.heir; h != nil {
		if frame < h.frame+h.fade {
			return &RunError{Code: graph.State, Block: s.block, Text: fmt.Sprintf("a change at frame %d, before the last one ends at frame %d", frame, h.frame+h.fade)}
		}
		if !h.began {
			return &RunError{Code: graph.State, Block: s.block, Text: fmt.Sprintf("a change at frame %d, before that at frame %d has begun", frame, h.frame)}
		}
		return h.next.Change(frame-h.frame, fade, to)
	}
	refuse := func(code graph.Code, text string) error {
		return &RunError{Code: code, Block: s.block, Text: "no change of the plan: " + text}
	}
	switch {
	case frame < s.position() || fade < 0 || s.draining:
		return refuse(graph.State, fmt.Sprintf("frame %d has been computed, or the fade of %d frames is negative", frame, fade))
	case s.rec != nil:
		return refuse(graph.Unsupported, "the session is recorded, and a change has no gradient")
	}
	o := s.opt
	o.Automate = slices.DeleteFunc(slices.Clone(o.Automate), func(name string) bool { return !automatable(to, o.Catalog, name) })
	next, err := New[F](to, o)
	if err != nil {
		return err
	}
	h := &heir[F]{frame: frame, fade: fade, opt: o, next: next}
	for _, p := range s.probes {
		in := p.in[0].in
		h.mixed = append(h.mixed, node.Tensor[F]{Data: make([]F, in.B*in.C*p.Tokens), B: in.B, C: in.C, N: p.Tokens})
	}
	for _, l := range []*graph.Linked{s.link, next.link} {
		if why := unsteady(l); why != "" {
			err = refuse(graph.Unsupported, why)
		} else if why := s.differs(l); why != "" {
			err = refuse(graph.BadShape, why)
		}
		r := int((frame - s.position()) % int64(s.link.BlockFrames))
		for _, part := range []int{r, s.link.BlockFrames - r} { // a change within a block runs its two parts
			if err == nil && r > 0 {
				_, err = graph.Link(l.Plan, o.Catalog, graph.Options{BlockFrames: part, Strict: o.Strict})
			}
		}
	}
	if err != nil {
		next.Close()
		return err
	}
	s.heir = h
	return nil
}

// unsteady says why a graph does not compute each frame in its block, "" if it does.
func unsteady(l *graph.Linked) string {
	for i := range l.Edges {
		if e := &l.Edges[i]; e.Hold > 0 || len(e.Gates) > 0 {
			return fmt.Sprintf("edge %s to %s holds frames back", e.Source, e.Target)
		}
	}
	for i := range l.Nodes {
		if n := &l.Nodes[i]; n.Spec.Dynamic || n.PDC == "trim" {
			return fmt.Sprintf("node %s may give fewer frames than it takes", n.Name)
		}
	}
	return ""
}

// differs says which endpoint of the session another graph lacks, "" for none.
func (s *Session[F]) differs(l *graph.Linked) string {
	shape := func(n *graph.LinkedNode) graph.Shape {
		if n.Spec.Endpoint == graph.Fed {
			return n.OutShape[0]
		}
		return n.InShape[0]
	}
	find := func(in []graph.LinkedNode, n *graph.LinkedNode) bool {
		return slices.ContainsFunc(in, func(m graph.LinkedNode) bool {
			return m.Name == n.Name && m.Spec.Endpoint == n.Spec.Endpoint && shape(&m) == shape(n) && m.Rate == n.Rate
		})
	}
	for i := range l.Nodes {
		if n := &l.Nodes[i]; n.Spec.Endpoint != graph.Inner && !find(s.link.Nodes, n) {
			return fmt.Sprintf("%s is not in both plans, with one shape and rate", n.Name)
		}
	}
	for i := range s.link.Nodes {
		if n := &s.link.Nodes[i]; n.Spec.Endpoint == graph.Taken && !find(l.Nodes, n) {
			return fmt.Sprintf("%s is not in both plans, with one shape and rate", n.Name)
		}
	}
	return ""
}

// An heir is the session that another one goes over to. Its frame 0 is frame of the other's stream.
type heir[F node.Float] struct {
	frame, fade int64
	opt         Options
	next        *Session[F]
	began       bool
	mixed       []node.Tensor[F] // by probe
	seen        int64            // cues that were passed on
	over        bool             // the fade has ended
	drained     bool             // the stream has ended
	ends        bool             // it ends in this block, within the fade
	late        int              // base frames of that block before the heir's first
}

// position is the frame of the base rate at which the next block begins.
func (s *Session[F]) position() int64 { return s.phase + s.block*int64(s.link.BlockFrames) }

// changing runs a block of a session that has an heir.
func (s *Session[F]) changing() error {
	h, at, n := s.heir, s.position(), int64(s.link.BlockFrames)
	if h.frame >= at+n {
		return s.blockOrDrain()
	}
	began := h.began
	if h.began = true; !began {
		if err := s.inherit(int(h.frame-at), false); err != nil {
			return err
		}
	}
	s.passOn()
	lost := h.next.meter.lost
	if began || h.frame == at { // the first block of an heir that begins within one was run
		s.feed(h.next, 0)
		if err := h.next.Block(); err != nil {
			return err
		}
		h.take(s, 0)
	}
	if h.next.meter.lost > lost {
		s.meter.lost++
	}
	if h.over {
		s.block++
		return nil
	}
	if err := s.blockOrDrain(); err != nil {
		return err
	}
	s.mix(at)
	h.over = at+n >= h.frame+h.fade
	return nil
}

// finishChange ends the stream part base frames into the block that comes, if the heir has begun or begins there. What
// comes out after the end is the heir's.
func (s *Session[F]) finishChange(part graph.Rat) error {
	h := s.heir
	r := h.frame - s.position()
	if !h.began && r*part.Den >= part.Num {
		return nil
	}
	began := h.began
	h.began, h.ends, h.late = true, !h.over, int(max(r, 0))
	if !began {
		if err := s.inherit(int(r), true); err != nil {
			return err
		}
	}
	s.passOn()
	if h.late == 0 {
		s.feed(h.next, 0)
	}
	part.Num -= int64(h.late) * part.Den
	return h.next.Finish(part)
}

// drainChange runs a block of the heir after the end of the stream. The first one has the rest of the fade.
func (s *Session[F]) drainChange() (moved bool, err error) {
	h, at := s.heir, s.position()
	h.drained = !h.ends
	if moved, err = h.next.Drain(); err != nil || h.drained {
		return moved, err
	}
	h.ends = false
	if err := s.blockOrDrain(); err != nil {
		return false, err
	}
	for i, p := range s.probes {
		t, _ := h.next.Probe(p.Name)
		first := int(int64(h.late) * p.Rate.Num / p.Rate.Den)
		h.mixed[i].N = first + t.N
		paste(&h.mixed[i], &t, first)
	}
	s.mix(at)
	return true, nil
}

// inherit makes the heir, with what nodes carry over r frames into the block that comes, which may be the last one.
func (s *Session[F]) inherit(r int, ends bool) error {
	h := s.heir
	next := h.next
	if r == 0 {
		next.adopt(s, h.frame)
		return nil
	}
	before, err := s.part(s.link.Plan, s.opt, r) // this session up to the frame
	if err != nil {
		return err
	}
	defer before.Close()
	if s.cues != nil {
		for i := range s.cues.n.Load() {
			if err := before.Post(s.cueAt(int32(i + 1))); err != nil {
				return err
			}
		}
	}
	if before.cues != nil {
		before.takeCues()
	}
	if err := before.restore(s.save()); err != nil {
		return err
	}
	before.setOrigins(s)
	s.feed(before, 0)
	if err := before.Block(); err != nil {
		return err
	}
	n := s.link.BlockFrames - r
	after, err := s.part(next.link.Plan, h.opt, n) // the heir up to the end of the block
	if err != nil {
		return err
	}
	after.adopt(before, h.frame)
	h.next = after
	s.passOn()
	s.feed(after, r)
	if ends {
		next.Close()
		return nil
	}
	defer after.Close()
	h.next, h.seen = next, 0
	if err := after.Block(); err != nil {
		return err
	}
	for i, p := range s.probes {
		t, _ := after.Probe(p.Name)
		paste(&h.mixed[i], &t, h.mixed[i].N-t.N)
	}
	s.passOn()
	if next.cues != nil {
		next.takeCues() // before the heir's frames are counted: none is late
	}
	if err := next.restore(after.save()); err != nil {
		return err
	}
	next.phase, next.block = int64(n), 0
	next.setOrigins(after)
	return nil
}

// setOrigins takes the origins of another session of the same plan.
func (s *Session[F]) setOrigins(from *Session[F]) {
	s.origin = from.origin
	for i, p := range s.procs {
		p.origin = from.procs[i].origin
	}
}

// part makes a session for a part of a block.
func (s *Session[F]) part(p *graph.Plan, o Options, frames int) (*Session[F], error) {
	o.BlockFrames, o.Threads, o.Memory = frames, 1, nil
	part, err := New[F](p, o)
	if err != nil {
		return nil, fmt.Errorf("change within a block of %d frames, of which %d remain: %w", s.link.BlockFrames, frames, err)
	}
	return part, nil
}

// automatable reports whether a plan has a parameter that cues may change.
func automatable(p *graph.Plan, types node.Table, name string) bool {
	of, param, err := cutParam(name)
	return err == nil && slices.ContainsFunc(p.Nodes, func(n graph.Node) bool {
		if n.Name != of {
			return false
		}
		spec, err := types.Describe(&n)
		return err == nil && slices.ContainsFunc(spec.Params, func(x graph.ParamSpec) bool { return x.Name == param && !x.Table })
	})
}

// feed gives another session the part of this one's inputs from base frame r of the block on.
func (s *Session[F]) feed(to *Session[F], r int) {
	for _, p := range to.procs {
		if p.Spec.Endpoint != graph.Fed {
			continue
		}
		from, err := s.find(p.Name, graph.Fed)
		if err != nil {
			continue
		}
		x, y := &from.call.Out[0], &p.call.Out[0]
		x.N, y.N = from.Tokens, p.Tokens
		at := int(int64(r) * p.Rate.Num / p.Rate.Den)
		for row := range y.B * y.C {
			copy(y.Row(row), x.Row(row)[at:])
		}
	}
}

// paste copies a part into rows from frame at on.
func paste[F node.Float](to, part *node.Tensor[F], at int) {
	for r := range to.B * to.C {
		copy(to.Row(r)[at:], part.Row(r))
	}
}

// take copies what the heir's probes took.
func (h *heir[F]) take(s *Session[F], at int) {
	for i, p := range s.probes {
		t, _ := h.next.Probe(p.Name)
		paste(&h.mixed[i], &t, at)
	}
}

// passOn gives the heir the cues of its frames.
func (s *Session[F]) passOn() {
	h := s.heir
	if s.cues == nil {
		return
	}
	if h.over { // this session takes none any more
		for now := s.position(); s.cues.taken < s.cues.n.Load(); s.cues.taken++ {
			c := s.cues.of(int32(s.cues.taken + 1))
			c.frame = max(c.frame, now)
		}
	}
	for ; h.seen < s.cues.n.Load(); h.seen++ {
		c := s.cueAt(int32(h.seen + 1))
		if c.Frame -= h.frame; c.Frame >= 0 {
			_ = h.next.Post(c) // for a node that the other plan has, or in vain
		}
	}
}

// mix fades from what this session's probes took to what the heir's did, in the block that begins at a frame.
func (s *Session[F]) mix(at int64) {
	h := s.heir
	for i, p := range s.probes {
		old, to := s.taken(p), &h.mixed[i]
		before := at * p.Rate.Num / p.Rate.Den
		for r := range to.B * to.C {
			x, y := old.Row(r), to.Row(r)
			for k := range min(len(x), len(y)) {
				base := at + int64(k)*p.Rate.Den/p.Rate.Num
				switch a := float64(base-h.frame) / float64(max(h.fade, 1)); {
				case s.draining && int64(k) >= s.last(p)-before: // after the end
				case base < h.frame:
					y[k] = x[k]
				case base < h.frame+h.fade:
					y[k] = F(float64(float64(x[k])*(1-a)) + float64(float64(y[k])*a))
				}
			}
		}
	}
}

// adopt takes over the state of nodes that another session has too, which is at frame of its stream.
func (s *Session[F]) adopt(from *Session[F], frame int64) {
	from.syncCounts()
	s.origin = from.origin + frame
	for _, p := range s.procs {
		p.origin = p.tokensBy(s.origin)
		q, err := from.find(p.Name, graph.Inner)
		if err != nil || !s.alike(p, q) {
			continue
		}
		if old, ok := q.inst.(node.Stateful[F]); ok {
			b := make([]byte, old.StateBytes())
			if to, ok := p.inst.(node.Stateful[F]); !ok || to.Load(b[:old.Save(b)]) != graph.Success {
				p.inst.Reset()
			}
		}
		for i, c := range p.out {
			c.adopt(q.out[i])
		}
	}
	s.leave()
}

// adopt takes over the last frames that another channel holds, as many as a prefill has.
func (c *channel[F]) adopt(from *channel[F]) {
	n := 0
	for _, r := range c.readers {
		n = max(n, int(r.prefill))
	}
	if n = min(n, c.ring.Size); n == 0 {
		return
	}
	held := from.unread()
	have := len(held) / max(from.ring.Rows, 1)
	frames := make([]F, n*c.ring.Rows)
	for r := range c.ring.Rows {
		k := min(n, have)
		copy(frames[(r+1)*n-k:(r+1)*n], held[(r+1)*have-k:(r+1)*have])
	}
	c.ring.Put(0, frames, n, n)
	c.wrote = int64(n)
	for _, r := range c.readers {
		r.cursor = int64(n)
	}
}

// alike reports whether a node can continue with the state of another.
func (s *Session[F]) alike(p, q *process[F]) bool {
	if p.Type != q.Type || p.OversampleRatio != q.OversampleRatio || p.Rows != q.Rows || p.Rate != q.Rate || p.inst == nil || q.inst == nil ||
		!slices.Equal(p.InShape, q.InShape) || !slices.Equal(p.OutShape, q.OutShape) {
		return false
	}
	t, ok := s.opt.Catalog.Lookup(p.Type)
	if !ok {
		return false
	}
	return !slices.ContainsFunc(t.Settings, func(set node.Setting) bool {
		a, b := p.Param(set.Name), q.Param(set.Name)
		if a == nil || b == nil {
			return a != b
		}
		if a.Text != nil || b.Text != nil {
			return a.Text == nil || b.Text == nil || *a.Text != *b.Text
		}
		return a.Value == nil || b.Value == nil || !slices.Equal(a.Value.Data, b.Value.Data)
	})
}

// dropHeir ends a change.
func (s *Session[F]) dropHeir() {
	if s.heir != nil {
		s.heir.next.Close()
	}
	s.heir, s.phase, s.origin = nil, 0, 0
	for _, p := range s.procs {
		p.origin = 0
	}
}
