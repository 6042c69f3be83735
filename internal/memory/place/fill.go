package place

import (
	"slices"

	"atenia/internal/memory"
)

// fill pins tensors in the room that an option leaves.
func (s *spill) fill(o option) *choice {
	f := &filling{s: s, room: s.b.in.RAM - o.need, pinned: make([]bool, len(s.b.out)), ring: o.ring.Bytes()}
	for _, i := range o.pinned {
		f.pinned[i] = true
	}
	for order := s.byValue; len(order) > 0; { // groups of equal value, in turn
		n := 1
		for n < len(order) && s.b.value(order[n]) == s.b.value(order[0]) {
			n++
		}
		f.spread(order[:n])
		order = order[n:]
	}
	c := &choice{pinned: o.pinned}
	for {
		f.greedy()
		c.streams = slices.Clone(s.ssd)
		for _, i := range s.open {
			if !f.pinned[i] && !s.b.out[i].ByRow {
				c.streams = append(c.streams, i)
			}
		}
		// Pinning may have removed the unit that set the size of the ring.
		c.ring = s.ringOf(c.streams, o.slots)
		if c.ring.Bytes() >= f.ring {
			break
		}
		f.room += f.ring - c.ring.Bytes()
		f.ring = c.ring.Bytes()
	}
	c.valued = f.order
	c.seconds = s.seconds(c)
	return c
}

// A filling distributes the RAM that is left.
type filling struct {
	s      *spill
	room   int64
	ring   int64
	pinned []bool // by tensor
	order  []int  // the tensors pinned by this filling, in order
}

func (f *filling) pin(i int) bool {
	n := f.s.b.out[i].Bytes
	if f.pinned[i] || n > f.room {
		return false
	}
	f.pinned[i] = true
	f.order = append(f.order, i)
	f.room -= n
	return true
}

// spread pins as much of a group as fits, spaced evenly: after each tensor, the
// pinned share is as close as possible to the share of the whole group.
func (f *filling) spread(group []int) {
	all, have := 0.0, 0.0
	for _, i := range group {
		n := float64(f.s.b.out[i].Bytes)
		all += n
		if f.pinned[i] {
			have += n
		}
	}
	if all == 0 {
		for _, i := range group {
			f.pin(i)
		}
		return
	}
	part := min(1, (have+float64(f.room))/all)
	due, held := 0.0, 0.0
	for _, i := range group {
		n := float64(f.s.b.out[i].Bytes)
		due += part * n
		if f.pinned[i] || held+n/2 <= due && f.pin(i) {
			held += n
		}
	}
}

// greedy pins what still fits, by value, then by size.
func (f *filling) greedy() {
	for _, i := range f.s.bySize {
		f.pin(i)
	}
}

// seconds predicts the duration of a decode pass for a choice.
func (s *spill) seconds(c *choice) float64 {
	p := &Placement{Tensors: slices.Clone(s.b.out), Ring: c.ring, Cache: s.b.cache, in: s.b.in, stage: s.b.stage}
	s.mark(c, func(i int, t memory.Tier, r Rule) { p.Tensors[i].Tier, p.Tensors[i].Rule = t, r })
	p.predictDecode()
	return p.Decode.Seconds
}

// take adopts a choice as the plan.
func (s *spill) take(c *choice) {
	s.b.ring = c.ring
	s.mark(c, func(i int, t memory.Tier, r Rule) { s.b.set(i, t, "", r) })
}

// mark calls set with the tier and rule of each open tensor.
func (s *spill) mark(c *choice, set func(i int, t memory.Tier, r Rule)) {
	for _, i := range s.open {
		if s.b.out[i].ByRow {
			set(i, memory.SSD, RuleRows)
		} else {
			set(i, memory.SSD, RuleStream)
		}
	}
	for _, i := range c.valued {
		set(i, memory.RAM, RuleValue)
	}
	for _, i := range c.pinned {
		set(i, memory.RAM, RuleRing)
	}
}
