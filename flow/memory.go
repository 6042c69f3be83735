package flow

import (
	"fmt"

	"atenia/flow/arena"
	"atenia/flow/graph"
	"atenia/flow/internal/ring"
	"atenia/flow/node"
)

// floats returns the memory of frames, zeros, in the session's arena if it has
// one. What the arena does not give comes from the heap, and lack says so: a
// session that lacks memory is not run.
func (s *Session[F]) floats(name string, n int) []F {
	if s.opt.Memory != nil && s.lack == nil {
		var x []F
		if x, s.lack = arena.Of[F](s.opt.Memory, name, n); s.lack == nil {
			return x
		}
	}
	return make([]F, n)
}

// tensor allocates a block.
func (s *Session[F]) tensor(name string, sh graph.Shape, frames int) node.Tensor[F] {
	return node.Tensor[F]{Data: s.floats(name, sh.B*sh.C*frames), B: sh.B, C: sh.C, N: frames}
}

// resize gives a channel's ring room for frames frames and keeps what lies
// there.
func (s *Session[F]) resize(c *channel[F], frames int) error {
	size := ring.Room(frames)
	if size <= c.ring.Size {
		return nil
	}
	data := s.floats(c.name+" ring", c.ring.Rows*size)
	if s.lack != nil {
		return fmt.Errorf("flow: %w", s.lack)
	}
	c.ring.Move(data, size, c.wrote)
	return nil
}

// An Occupancy is how full the channel of an edge is, in frames.
type Occupancy struct {
	Used     int // written and not read, held and prefilled ones among them
	Capacity int // of the channel, which all readers of an output share
}

// Occupancies returns how full each edge's channel is, in the order of the
// plan. Where a block is read right after it was written nothing waits.
func (s *Session[F]) Occupancies() []Occupancy {
	s.settle()
	all := make([]Occupancy, len(s.readers))
	for _, p := range s.procs {
		for _, c := range p.out {
			for _, r := range c.readers {
				all[r.edge.Index] = Occupancy{int(r.prefill + c.wrote - r.cursor), c.ring.Size}
			}
		}
	}
	return all
}
