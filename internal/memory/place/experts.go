package place

import (
	"fmt"
	"math"

	"atenia/internal/memory"
)

// A Cache is the memory for experts that are read when tokens choose them.
type Cache struct {
	Slots   int   `json:"slots"`      // experts that it holds at once, beside held ones
	Experts int   `json:"experts"`    // that share the slots
	Held    int   `json:"held"`       // experts that a pin or a plan file keeps in RAM
	Slot    int64 `json:"slot_bytes"` // room of one expert: whole blocks of its file
	Size    int64 `json:"bytes"`      // beyond the bytes of held experts
}

// Bytes returns the memory that the cache takes beside held experts.
func (c Cache) Bytes() int64 { return c.Size }

// HitRate returns the share of the experts that are in memory, of those that a pass of so
// many tokens chooses, if all are chosen equally often. The one whose last use is the longest
// ago leaves the cache, and so a layer whose turn it is has fewer there than the others: by
// half of those that a pass adds, and none where all layers together choose more than there
// is room for.
func (p *Placement) HitRate(tokens int) float64 {
	layers, chosen, least, last := 0, 0.0, 0.0, -1
	for i := range p.Tensors {
		if t := &p.Tensors[i]; t.Experts > 0 && t.Tier == memory.SSD && t.Unit != last {
			last = t.Unit
			layers++
			chosen, least = max(chosen, t.Chosen(tokens)*float64(t.Experts)), max(least, t.Chosen(1)*float64(t.Experts))
		}
	}
	slots, all := float64(p.Cache.Slots), float64(max(p.Cache.Experts, 1))
	switch n := float64(layers); {
	case slots >= all || chosen > max(least, slots/max(n, 1)): // the latter pass leaves the cache as it is
		return min(1, slots/all)
	case slots < n*chosen:
		return 0
	default:
		added := chosen * (n - 1) / (2 * all)
		return max(0, (slots/all-added)/(1-added))
	}
}

// String describes the cache in a table.
func (c Cache) String() string { return fmt.Sprintf("cache of %d experts", c.Slots+c.Held) }

// together gives the tensors of each unit of experts, which are read together, the
// tier of the first of them that has one.
func (b *placer) together() error {
	first := map[int]int{}
	for i := range b.out {
		if t := &b.out[i]; t.Experts > 0 && b.done[i] && t.Tier != memory.VRAM {
			if _, ok := first[t.Unit]; !ok {
				first[t.Unit] = i
			}
		}
	}
	for i := range b.out {
		k, ok := first[b.out[i].Unit]
		if !ok || b.out[i].Experts == 0 || b.done[i] && b.out[i].Tier == memory.VRAM {
			continue
		}
		from := &b.out[k]
		if b.out[i].Held == "" || from.Tier == memory.RAM {
			b.set(i, from.Tier, "", from.Rule)
		}
	}
	return nil
}

// fewWaves is how many times the experts that a token chooses of a layer a cache
// holds at least: those in use, and those that are read meanwhile.
const fewWaves = 2

// cached places what remains if experts are read through a cache: what every pass
// reads stays in RAM, or is streamed as far as it has no room; experts share what
// is left, and tables that are read by rows come last. It reports false if there
// are no experts to cache, or no reason to.
func (s *spill) cached(all int64) (bool, error) {
	b := s.b
	fits := b.in.RAM == 0 || s.fixed+all+s.ringOf(s.ssd, b.in.Slots).Bytes() <= b.in.RAM
	forbidden := b.in.MaxTier != nil && *b.in.MaxTier != memory.SSD
	spills := !fits
	for i := range b.out {
		spills = spills || b.done[i] && b.out[i].Tier == memory.SSD
	}
	if !spills || forbidden || !s.countExperts() {
		return false, nil
	}
	c := &b.cache
	least := s.leastSlots()
	s.fixed += c.resize(least)
	var dense, tables []int
	for _, i := range s.open {
		switch t := &b.out[i]; {
		case t.Experts > 0:
			b.set(i, memory.SSD, "", RuleCache)
		case t.ByRow:
			b.set(i, memory.SSD, "", RuleRows)
			tables = append(tables, i)
		default:
			dense = append(dense, i)
		}
	}
	s.open = dense
	if err := s.dense(); err != nil {
		return false, err
	}
	left := int64(math.MaxInt64)
	if b.in.RAM > 0 {
		left = b.in.RAM - s.used()
	}
	if b.in.RAM > 0 {
		more := min(left/c.Slot, int64(c.Experts-c.Slots))
		left -= c.resize(c.Slots + int(more))
	}
	for _, i := range tables {
		if n := b.out[i].Bytes; c.Slots == c.Experts && n <= left {
			b.set(i, memory.RAM, "", RuleValue)
			left -= n
		}
	}
	return true, nil
}

// dense places the weights that every pass reads.
func (s *spill) dense() error {
	b := s.b
	all := int64(0)
	for _, i := range s.open {
		all += b.out[i].Bytes
	}
	b.ring = s.ringOf(s.ssd, b.in.Slots)
	if b.in.RAM > 0 && s.fixed+all+b.ring.Bytes() > b.in.RAM {
		return s.choose()
	}
	for _, i := range s.open {
		b.set(i, memory.RAM, "", RuleValue)
	}
	return nil
}

// used returns the RAM that is taken so far.
func (s *spill) used() int64 {
	p := Placement{Tensors: s.b.out, Ring: s.b.ring, Cache: s.b.cache, in: s.b.in}
	return p.RAM()
}

// countExperts measures the experts and reports whether there are any to cache.
func (s *spill) countExperts() bool {
	type unit struct {
		slot    int64
		experts int
		held    bool
		bytes   int64
	}
	units := map[int]*unit{}
	c := &s.b.cache
	for i := range s.b.out {
		t := &s.b.out[i]
		if t.Experts == 0 || t.Held != "" || s.b.done[i] && t.Tier == memory.VRAM {
			continue
		}
		u := units[t.Unit]
		if u == nil {
			u = &unit{}
			units[t.Unit] = u
		}
		u.slot += slotBytes((t.Bytes + int64(t.Experts) - 1) / int64(t.Experts))
		u.experts, u.bytes = t.Experts, u.bytes+t.Bytes
		u.held = u.held || s.b.done[i] && t.Tier == memory.RAM
	}
	held := int64(0)
	for _, u := range units {
		c.Slot = max(c.Slot, u.slot)
		if u.held {
			c.Held += u.experts
			held += u.bytes
		} else {
			c.Experts += u.experts
		}
	}
	if c.Experts+c.Held == 0 {
		return false
	}
	c.Size = int64(c.Held)*c.Slot - held
	s.fixed += c.Size
	return true
}

// leastSlots is what one layer needs for one token.
func (s *spill) leastSlots() int {
	n := 0.0
	for i := range s.b.out {
		if t := &s.b.out[i]; t.Experts > 0 {
			n = max(n, fewWaves*t.Uses*float64(t.Experts))
		}
	}
	return min(max(1, int(math.Ceil(n-1e-6))), s.b.cache.Experts)
}

// resize changes the number of slots and returns by how many bytes the cache grows.
func (c *Cache) resize(slots int) int64 {
	n := int64(slots-c.Slots) * c.Slot
	c.Slots, c.Size = slots, c.Size+n
	return n
}
