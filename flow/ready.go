package flow

import (
	"atenia/flow/graph"
	"atenia/flow/node"
)

// A gate is any gate but a barrier: it opens for whole blocks.
type gate struct {
	graph.Gate
	open   bool    // for this block
	blocks []int64 // blocks for which the host opened it, ascending
	next   int     // index of the first of them not yet passed
}

// updateGates opens and closes gates for block k.
func (s *Session[F]) updateGates() {
	for _, g := range s.gates {
		switch g.Kind {
		case graph.Tempo:
			g.open = graph.TempoOpen(int64(g.PeriodFrames), int64(s.link.BlockFrames), s.block)
			continue
		case graph.Thermal:
			g.open = !s.thermal.hot
			continue
		}
		for g.next < len(g.blocks) && g.blocks[g.next] < s.block {
			g.next++
		}
		g.open = g.next < len(g.blocks) && g.blocks[g.next] == s.block
	}
}

// open reports whether the process waits for nothing but data.
func (s *Session[F]) open(p *process[F]) bool {
	if s.draining {
		return true
	}
	for _, g := range p.gates {
		if !g.open && !s.dry {
			return false
		}
	}
	for i := range p.waits {
		w := &p.waits[i]
		if w.on.readable(w.cursor, false) < w.frames {
			return false
		}
	}
	return true
}

// want returns the tokens that the process can fire now, 0 for none. A block begins when the gates are open and every
// input from outside the cycle holds the whole block; inside a cycle it proceeds in slices as data arrives. While
// draining it takes whatever is there.
func (s *Session[F]) want(p *process[F]) int {
	switch {
	case p.left == 0 || p.ended:
		return 0
	case p.source():
		t := p.left
		switch {
		case !s.draining:
		case p.Spec.Endpoint != graph.Fed:
			t = int(min(int64(t), s.last(p)-p.n0))
		case t == p.Tokens:
			t = p.owed
		default: // the rest in the next block
			t = 0
		}
		if t > 0 && !s.room(p, t) {
			return 0
		}
		return t
	case s.draining && !p.Fed:
		return 0
	case !s.draining && p.left == p.Tokens:
		if !s.open(p) {
			return 0
		}
		for _, r := range p.all {
			if !r.edge.Inside && r.readable(r.cursor, false) < int64(p.Tokens*r.cons) {
				return 0
			}
		}
	}
	t := min(p.left, p.slice)
	if s.draining {
		for _, r := range p.all {
			t = min(t, int(r.readable(r.cursor, true)/int64(r.cons)))
		}
		return t
	}
	for _, r := range p.all {
		if r.readable(r.cursor, false) < int64(t*r.cons) {
			return 0
		}
	}
	if !s.room(p, t) {
		return 0
	}
	return t
}

// owes reports whether a source still has a block to give after the end of the stream, because it waited for room.
func (s *Session[F]) owes(p *process[F]) bool {
	if p.Spec.Endpoint == graph.Fed {
		return p.owed > 0
	}
	return p.n0 < s.last(p)
}

// newWait returns the control edge of a barrier.
func newWait[F node.Float](on *reader[F], p *process[F], block int) wait[F] {
	w := wait[F]{on: on, frames: int64(block) * on.edge.Rate.Num / on.edge.Rate.Den}
	w.num, w.den = on.edge.Rate.Num*p.Rate.Den, on.edge.Rate.Den*p.Rate.Num
	return w
}
