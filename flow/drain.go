package flow

import (
	"atenia/flow/graph"
	"atenia/flow/node"
)

// drainNodes calls nodes that hold frames back ([node.Drainer]), once nothing else of the stream moves and their inputs
// have ended. What they give may let others go on, so it returns after the first that gave something.
//
// An input has ended if its writer has. A node has ended if some input has ended with less than a token in it, and
// nothing is held back; in a cycle all nodes end with the input from outside. Both follow from the counts of frames, so
// the frames that come out do not depend on the schedule.
func (s *Session[F]) drainNodes() (moved bool, code graph.Code) {
	clear(s.seen) // by process: it has ended
	for more := true; more; {
		more = false
		for _, p := range s.order { // not always writers first: a prefill may be between them
			if s.seen[p.Index] || !s.exhausted(p) {
				continue
			}
			d, ok := p.inst.(node.Drainer[F])
			if ok && !p.empty && !p.ended && p.Fed {
				if p.left == 0 {
					continue // more in the next block
				}
				before := p.drained
				if code := s.drainNode(p, d); code != graph.Success || p.drained > before {
					return true, code
				}
			}
			s.seen[p.Index], more = true, true
		}
	}
	return false, graph.Success
}

// exhausted reports whether a process can take no further token.
func (s *Session[F]) exhausted(p *process[F]) bool {
	if p.source() {
		return !s.owes(p)
	}
	for _, r := range p.all {
		if s.seen[r.edge.Src] && r.readable(r.cursor, true) < int64(r.cons) {
			return true
		}
	}
	return p.ended || !p.Fed
}

// drainNode makes one call of a node that holds frames back: at most the rest of a block comes out.
func (s *Session[F]) drainNode(p *process[F], d node.Drainer[F]) graph.Code {
	c := &p.call
	c.Frame0, c.Tokens, c.Produced, c.Final, c.Heat, c.Delay = p.n0, 0, 0, true, 0, 0
	for i, r := range p.in {
		c.In[i].N = 0
		if n := r.readable(r.cursor, true); n > 0 && n < int64(r.cons) {
			s.take(p, r, r.in.Data, int(n), int(n))
			c.In[i].N = int(n)
		}
	}
	for i := range p.sources {
		p.sources[i].N = 0
	}
	for i, prod := range p.Spec.Prod {
		c.Out[i].N = p.left * prod
	}
	if s.rec != nil {
		s.rec.Before(p.Index, p.inst, c, p.sources, int(s.block))
	}
	code := s.applyPolicy(p, c, d.Drain(c))
	c.Produced = max(0, min(c.Produced, p.left))
	if s.rec != nil {
		s.rec.After(p.Index, c, 0)
	}
	p.empty = c.Produced < p.left
	for i, o := range p.out {
		n := c.Produced * p.Spec.Prod[i]
		skip := int(min(max(int64(p.trimmed)-o.made, 0), int64(n)))
		o.made += int64(n)
		o.store(skip, n, c.Out[i].N)
	}
	p.drained += int64(c.Produced)
	p.left -= c.Produced
	c.Final = false
	return code
}
