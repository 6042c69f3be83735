package flow

import (
	"fmt"

	"atenia/flow/graph"

	"atenia/flow/node"
)

// floats allocates zeroed frames, in the session's arena if it has one. When the arena is exhausted the frames come
// from the heap and arenaErr is set, which keeps the session from running.
func (s *Session[F]) floats(name string, n int) []F {
	if s.opt.Memory != nil && s.arenaErr == nil {
		var x []F
		if x, s.arenaErr = arenaOf[F](s.opt.Memory, name, n); s.arenaErr == nil {
			return x
		}
	}
	return make([]F, n)
}

// tensor allocates a block.
func (s *Session[F]) tensor(name string, sh graph.Shape, frames int) node.Tensor[F] {
	return node.Tensor[F]{Data: s.floats(name, sh.B*sh.C*frames), B: sh.B, C: sh.C, N: frames}
}

// resize gives a channel's ring room for frames frames and keeps its contents.
func (s *Session[F]) resize(c *channel[F], frames int) error {
	size := ringRoom(frames)
	if size <= c.ring.Size {
		return nil
	}
	data := s.floats(c.name+" ring", c.ring.Rows*size)
	if s.arenaErr != nil {
		return fmt.Errorf("flow: %w", s.arenaErr)
	}
	clear(data) // the system gives memory when it is written to, which must not be in real time
	c.since = c.first()
	c.ring.Move(data, size, c.wrote)
	return nil
}

// An Occupancy is the fill level of an edge's channel, in frames.
type Occupancy struct {
	Used     int // written and not yet read, including held and prefilled frames
	Capacity int // of the channel, which all readers of an output share
}

// Occupancies returns the fill level of each edge's channel, in plan order. Edges read directly on the static path
// hold nothing between blocks.
func (s *Session[F]) Occupancies() []Occupancy {
	s.syncCounts()
	all := make([]Occupancy, len(s.readers))
	for _, p := range s.procs {
		for _, c := range p.out {
			for _, r := range c.readers {
				all[r.edge.Index] = Occupancy{int(r.holds() - r.lost()), c.ring.Size}
			}
		}
	}
	return all
}
