package flow

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
