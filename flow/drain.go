package flow

import (
	"fmt"

	"atenia/flow/graph"
	"atenia/flow/node"
)

// Finish ends the stream at part base frames after the blocks run so far. The buffer of each [Session.Input] holds its
// share of them, rounded down to whole frames of its rate: no silence has to fill the block up. [Session.Drain] computes
// them, and gives out what delays and nodes hold. What comes out is therefore the same for every block size.
//
// A Drain without a Finish ends the stream with the last block. A part of more than a block is for Inputs that
// [Session.Waiting] kept from being fed: [Session.Offer] gives the rest of it.
func (s *Session[F]) Finish(part graph.Rat) error {
	if s.draining || part.Den < 1 || part.Den > mostDen || part.Num < 0 {
		return s.badEnd(part)
	}
	if s.heir != nil {
		if err := s.finishChange(part); err != nil {
			return err
		}
	}
	s.leave()
	s.draining, s.until = true, graph.Rat{Num: s.position()*part.Den + part.Num, Den: part.Den}
	for _, p := range s.procs {
		if p.Spec.Endpoint == graph.Fed {
			p.owed = s.share(p)
		}
	}
	return nil
}

// mostDen is the finest fraction of a frame at which a stream ends.
const mostDen = 1 << 31

func (s *Session[F]) badEnd(part graph.Rat) error {
	return &RunError{Code: graph.State, Block: s.block, Text: fmt.Sprintf("the stream has ended, or cannot end after %d/%d frames", part.Num, part.Den)}
}

// last is how many tokens a source gives until the end of the stream.
func (s *Session[F]) last(p *process[F]) int64 {
	num, den := p.Rate.Num, p.Rate.Den
	whole, rest := s.until.Num/s.until.Den, s.until.Num%s.until.Den
	return whole/den*num + (whole%den*s.until.Den+rest)*num/(s.until.Den*den)
}

// share is how many of the tokens in an Input's buffer belong to the stream, which has ended.
func (s *Session[F]) share(p *process[F]) int {
	return int(max(0, min(int64(p.Tokens), s.last(p)-p.n0)))
}

// Offer says that an Input's buffer holds its next frames after the end of the stream, as far as [Session.Finish] or the
// blocks run tell: a block, or the rest. A host calls it between calls of [Session.Drain] for what [Session.Waiting]
// kept it from feeding before.
func (s *Session[F]) Offer(name string) error {
	p, err := s.find(name, graph.Fed)
	if err == nil && s.draining {
		p.owed = s.share(p)
	}
	return err
}

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
