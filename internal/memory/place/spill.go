package place

import (
	"cmp"
	"math"
	"slices"

	"atenia/internal/memory"
	pub "atenia/place"
)

// memory places the remaining tensors in RAM, or part of them on the SSD.
func (b *placer) memory() error {
	s := &spill{b: b, fixed: b.in.reserved()}
	all := int64(0)
	for i := range b.out {
		t := &b.out[i]
		switch {
		case !b.done[i] && t.Held != "":
			b.set(i, memory.RAM, "", RuleHeld)
		case !b.done[i]:
			s.open = append(s.open, i)
			all += t.Bytes
		case t.Streamed():
			s.ssd = append(s.ssd, i)
		}
		if b.done[i] && t.Tier == memory.RAM {
			s.fixed += t.Bytes
		}
	}
	if ok, err := s.cached(all); err != nil {
		return err
	} else if ok {
		return b.checkSSD()
	}
	fits := b.in.RAM == 0 || s.fixed+all+s.ringOf(s.ssd, b.in.Slots).Bytes() <= b.in.RAM
	switch {
	case fits:
		b.ring = s.ringOf(s.ssd, b.in.Slots)
		for _, i := range s.open {
			b.set(i, memory.RAM, "", RuleFits)
		}
		return b.checkSSD()
	case b.in.MaxTier != nil && *b.in.MaxTier != memory.SSD:
		return b.floor(s.fixed+all, "the slowest tier allowed is "+b.in.MaxTier.Lower(), Part{Name: "weights", Bytes: all})
	}
	if err := s.choose(); err != nil {
		return err
	}
	return b.checkSSD()
}

// checkSSD enforces the budget of the SSD.
func (b *placer) checkSSD() error {
	n := int64(0)
	for i := range b.out {
		if b.out[i].Tier == memory.SSD {
			n += b.out[i].Bytes
		}
	}
	if b.in.SSD == 0 || n <= b.in.SSD {
		return nil
	}
	return &FloorError{Tier: pub.TierSSD, Budget: b.in.SSD, Floor: n, Parts: []Part{{Name: "tensors", Bytes: n}}, Why: "the other tiers are full"}
}

// floor returns the error for a RAM budget that is too small.
func (b *placer) floor(n int64, why string, more ...Part) error {
	sums := map[string]int64{}
	for i := range b.out {
		if t := &b.out[i]; b.done[i] && t.Tier == memory.RAM {
			name := t.Class.String()
			if t.Rule == RulePin || t.Rule == RuleFile || t.Rule == RuleHeld {
				name = string(t.Rule)
			}
			sums[name] += t.Bytes
		}
	}
	parts := more
	for _, name := range append(slices.Clone(classNames[:]), string(RulePin), string(RuleFile), string(RuleHeld)) {
		if sums[name] > 0 {
			parts = append(parts, Part{Name: name, Bytes: sums[name]})
		}
	}
	for _, r := range b.in.Reserves {
		parts = append(parts, Part(r))
	}
	parts = append(parts, Part{Name: "cache of experts", Bytes: b.cache.Bytes()})
	parts = slices.DeleteFunc(parts, func(p Part) bool { return p.Bytes == 0 })
	slices.SortStableFunc(parts, func(x, y Part) int { return cmp.Compare(y.Bytes, x.Bytes) })
	return &FloorError{Tier: pub.TierRAM, Budget: b.in.RAM, Floor: n, Parts: parts, Why: why}
}

// A spill chooses which tensors to stream when not everything fits.
type spill struct {
	b     *placer
	fixed int64 // RAM needed whatever is streamed
	open  []int // tensors to be placed
	ssd   []int // those that must be streamed
	units []unit
	// open, sorted by value, ties in the order of use, and sorted by size
	byValue, bySize []int
}

// A unit is the streamable part of what one instruction reads.
type unit struct {
	open  []int // by bytes, largest first
	bytes int64 // ring bytes needed to stream all of it
	fixed int64 // of those that must be streamed
}

// ringOf returns a ring with room for the largest units among the streamed
// tensors. Pinning a tensor never enlarges it.
func (s *spill) ringOf(streamed []int, slots int) Ring {
	of := make([]int64, len(s.b.out)) // at most one unit for each tensor
	for _, i := range streamed {
		of[s.b.stage[i]] += slotBytes(s.b.out[i].Bytes)
	}
	return s.b.in.ringFor(of, slots)
}

// leastOfPage is the part of a page that a ring must have to be rounded up to one.
const leastOfPage = 4

// ringFor makes a ring for units of the given sizes.
func (in *Input) ringFor(units []int64, slots int) Ring {
	var r Ring
	top := make([]int64, slots) // largest last
	for _, n := range units {
		if n > 0 {
			r.Units++
		}
		if k, _ := slices.BinarySearch(top, n); k > 0 {
			copy(top, top[1:k])
			top[k-1] = n
		}
	}
	for _, n := range top {
		r.Size += n
	}
	if r.Largest = top[slots-1]; r.Units > 0 {
		r.Slots = slots
	}
	if p := in.RingPage; p > 0 && r.Size >= p/leastOfPage {
		r.Size = (r.Size + p - 1) / p * p
	}
	return r
}

// An option limits the bytes that any unit may stream.
type option struct {
	slots  int
	ring   Ring
	pinned []int // the part of each unit beyond the limit
	need   int64 // RAM with nothing else pinned
}

// A choice is an option with the remaining RAM filled.
type choice struct {
	ring    Ring
	pinned  []int // by the option
	valued  []int // by value
	streams []int
	seconds float64
}

// choose tries several limits on the largest unit and takes the one with the
// fastest pass.
func (s *spill) choose() error {
	s.collect()
	sizes := s.sizes()
	least := option{need: math.MaxInt64}
	var best *choice
	for _, slots := range []int{s.b.in.Slots, fewSlots} {
		for _, size := range sizes {
			o, ok := s.option(slots, size)
			if !ok {
				continue
			}
			if o.need < least.need {
				least = o
			}
			if o.need > s.b.in.RAM {
				continue
			}
			if c := s.fill(o); best == nil || c.seconds < best.seconds {
				best = c
			}
		}
		if best != nil { // fewer slots only if memory does not allow more
			break
		}
	}
	if best == nil {
		why := "what is streamed goes through a ring"
		if len(s.open) == 0 {
			why = "none of it can be streamed"
		}
		return s.b.floor(least.need, why, s.parts(least)...)
	}
	s.take(best)
	return nil
}

// parts lists what the smallest option needs beyond the fixed part.
func (s *spill) parts(o option) []Part {
	pinned := Part{Name: "weights too large for it"}
	for _, i := range o.pinned {
		pinned.Bytes += s.b.out[i].Bytes
	}
	return []Part{{Name: "ring", Bytes: o.need - s.fixed - pinned.Bytes}, pinned}
}

// collect groups the streamable tensors into units and sorts them.
func (s *spill) collect() {
	b := s.b
	s.byValue, s.bySize = slices.Clone(s.open), slices.Clone(s.open)
	slices.SortStableFunc(s.byValue, func(i, k int) int { return cmp.Compare(b.value(k), b.value(i)) })
	slices.SortStableFunc(s.bySize, func(i, k int) int {
		return cmp.Or(cmp.Compare(b.value(k), b.value(i)), cmp.Compare(b.out[k].Bytes, b.out[i].Bytes))
	})
	of := map[int]*unit{}
	var order []int
	get := func(i int) *unit {
		n := s.b.out[i].Unit
		if of[n] == nil {
			of[n] = &unit{}
			order = append(order, n)
		}
		of[n].bytes += slotBytes(s.b.out[i].Bytes)
		return of[n]
	}
	for _, i := range s.open {
		if t := &s.b.out[i]; !t.ByRow {
			u := get(i)
			u.open = append(u.open, i)
		}
	}
	for _, i := range s.ssd {
		get(i).fixed += slotBytes(s.b.out[i].Bytes)
	}
	for _, n := range order {
		u := of[n]
		slices.SortStableFunc(u.open, func(i, k int) int { return cmp.Compare(s.b.out[k].Bytes, s.b.out[i].Bytes) })
		s.units = append(s.units, *u)
	}
}

// sizes returns the limits worth trying: the bytes left of a unit when its
// largest tensors are pinned, largest first. If there are very many, it samples
// them.
func (s *spill) sizes() []int64 {
	const most = 32
	var all []int64
	for _, u := range s.units {
		rest := u.bytes
		all = append(all, rest)
		for _, i := range u.open {
			one := slotBytes(s.b.out[i].Bytes)
			rest -= one
			all = append(all, rest, one)
		}
	}
	all = append(all, 0)
	slices.Sort(all)
	all = slices.Compact(all)
	slices.Reverse(all)
	if len(all) <= most {
		return all
	}
	some := make([]int64, most)
	for i := range some {
		some[i] = all[i*(len(all)-1)/(most-1)]
	}
	return some
}

// option pins the fewest bytes of each unit that exceeds size: the smallest
// tensor that suffices, or else the largest, and so on.
func (s *spill) option(slots int, size int64) (option, bool) {
	o := option{slots: slots, need: s.fixed}
	rests := make([]int64, len(s.units))
	for k := range s.units {
		u := &s.units[k]
		if u.fixed > size {
			return o, false
		}
		rest, open := u.bytes, u.open
		for rest > size {
			n := 0 // the largest, unless a smaller one suffices
			for j := range open {
				if rest-slotBytes(s.b.out[open[j]].Bytes) <= size {
					n = j
				}
			}
			i := open[n]
			open = slices.Delete(slices.Clone(open), n, n+1)
			rest -= slotBytes(s.b.out[i].Bytes)
			o.pinned = append(o.pinned, i)
			o.need += s.b.out[i].Bytes
		}
		rests[k] = rest
	}
	o.ring = s.b.in.ringFor(rests, slots)
	o.need += o.ring.Bytes()
	return o, true
}
