package network

import "atenia/grad"

// words is how many values of a float type hold an integer exactly: positions
// and counters are stored in pieces of so many bits.
const (
	pieceBits = 20
	pieces    = 3
)

func split[F grad.Float](dst []F, x int64) {
	for i := range pieces {
		dst[i] = F(x >> (i * pieceBits) & (1<<pieceBits - 1))
	}
}

func join[F grad.Float](src []F) int64 {
	var x int64
	for i := range pieces {
		x |= int64(src[i]) << (i * pieceBits)
	}
	return x
}

// State returns what the sessions carry, for checkpoints: the channels of the
// grid, the slots of the ports, the queue of the Thinkers, and the integers among
// them in pieces that the float type holds exactly.
func (s *Stream[F]) State() [][]F {
	var out [][]F
	for _, f := range s.Grid.Fields() {
		out = append(out, f.Values)
	}
	out = append(out, s.Slots)
	if s.Queue != nil {
		out = append(out, s.Queue.Entries, s.Queue.Last)
	}
	whole := make([]F, pieces, pieces+2*len(s.Grid.Sent)+s.batch)
	split(whole, int64(s.Pos))
	for i, r := range s.Grid.Refractory {
		sent := F(0)
		if s.Grid.Sent[i] {
			sent = 1
		}
		whole = append(whole, F(r), sent)
	}
	if s.Queue != nil {
		for _, n := range s.Queue.Count {
			whole = append(whole, F(n))
		}
	}
	return append(out, whole)
}

// SetState continues from a state of as many sessions of the same network.
func (s *Stream[F]) SetState(state [][]F) error {
	mine := s.State()
	if len(state) != len(mine) {
		return &codesError{"arrays of a state", len(mine), len(state)}
	}
	for i, a := range mine {
		if len(state[i]) != len(a) {
			return &codesError{"values of a state", len(a), len(state[i])}
		}
	}
	last := len(mine) - 1
	for i, a := range mine[:last] {
		copy(a, state[i])
	}
	whole := state[last]
	s.Pos = int(join(whole))
	whole = whole[pieces:]
	for i := range s.Grid.Refractory {
		s.Grid.Refractory[i], s.Grid.Sent[i] = int32(whole[0]), whole[1] != 0
		whole = whole[2:]
	}
	if s.Queue != nil {
		for b := range s.Queue.Count {
			s.Queue.Count[b] = int(whole[b])
		}
	}
	return nil
}
