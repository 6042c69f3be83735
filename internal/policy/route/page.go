package route

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"atenia/internal/memory"
)

// ErrFloor is matched by the error of a byte limit that no plan can meet.
var ErrFloor = errors.New("below the floor")

// A FloorError names a kernel whose tensors exceed the limit. It matches
// [ErrFloor].
type FloorError struct {
	Node        uint64
	Need, Limit uint64 // bytes
}

func (e *FloorError) Error() string {
	return fmt.Sprintf("kernel %d needs %d bytes of RAM at once, the limit is %d: allow at least as many", e.Node, e.Need, e.Limit)
}

// Is reports whether target is [ErrFloor].
func (e *FloorError) Is(target error) bool { return target == ErrFloor }

// A Paging lists the moves of a tick that bring the tensors of every kernel into
// RAM in time. Its text has one line per kernel.
type Paging struct {
	Steps []Step
	In    uint64 // bytes to RAM
	Out   uint64 // bytes to the SSD
	Hits  int    // tensors found in RAM when needed
}

// A Step lists the evictions and loads for one kernel.
type Step struct {
	Node  uint64
	Evict []Eviction
	Load  []string
	Hits  int
}

// An Eviction is an evicted tensor and the reason for the choice.
type Eviction struct {
	ID string
	// Next is the number of kernels until the tensor is needed again; 0 if neither
	// this tick nor the next one needs it.
	Next int
	// After is the last kernel of this tick that used it before; nil if none did.
	After *uint64
}

// String returns the id and the reason.
func (e Eviction) String() string {
	if e.Next == 0 {
		return e.ID + " (not needed)"
	}
	return fmt.Sprintf("%s (needed %d kernels later)", e.ID, e.Next)
}

// String returns one line per kernel and a line of totals.
func (p Paging) String() string {
	var b strings.Builder
	loads, evictions := 0, 0
	for _, s := range p.Steps {
		fmt.Fprintf(&b, "kernel %d: %d in place", s.Node, s.Hits)
		for _, e := range s.Evict {
			fmt.Fprintf(&b, ", evict %v", e)
		}
		for _, id := range s.Load {
			fmt.Fprintf(&b, ", load %s", id)
		}
		b.WriteByte('\n')
		loads, evictions = loads+len(s.Load), evictions+len(s.Evict)
	}
	fmt.Fprintf(&b, "%d in place, %d loaded, %d evicted; %d bytes in, %d bytes out\n", p.Hits, loads, evictions, p.In, p.Out)
	return b.String()
}

// A page is a tensor that is in RAM or will be loaded.
type page struct {
	id       string
	bytes    uint64
	resident bool
	uses     []int // remaining uses in this tick and the next, as ascending positions
	last     int   // position of the last use in this tick, or none
}

// none is the position of a missing use.
const none = math.MinInt

// pages is the state of planning a tick: every tensor that is in RAM or is
// needed.
type pages struct {
	byID  map[string]*page
	sorts []*page // sorted by id
	limit uint64
	ahead int
	used  uint64
	nodes []Node // of this tick
}

// schedulePages plans a tick. The tensors of a kernel are loaded before it runs; if
// there is no room, others are evicted, see [pages.victim].
func schedulePages(m *memory.Manager, now, next *Graph, limit uint64, ahead int) (Paging, error) {
	p, err := newPages(m, now, next, limit, ahead)
	if err != nil {
		return Paging{}, err
	}
	out := Paging{Steps: make([]Step, 0, len(now.nodes))}
	for i := range now.nodes {
		s, err := p.step(i, &out)
		if err != nil {
			return Paging{}, err
		}
		out.Steps = append(out.Steps, s)
		out.Hits += s.Hits
	}
	return out, nil
}

func newPages(m *memory.Manager, now, next *Graph, limit uint64, ahead int) (*pages, error) {
	p := &pages{byID: map[string]*page{}, limit: limit, ahead: ahead, nodes: now.nodes}
	for _, id := range m.IDs() {
		if r, ok := m.Residence(id); ok && r.Backing == memory.BackingRAM {
			p.byID[id] = &page{id: id, bytes: r.Bytes, resident: true, last: none}
			p.used += r.Bytes
		}
	}
	place := 0
	for _, n := range slices.Concat(now.nodes, next.nodes) {
		for _, id := range n.Tensors {
			k := p.byID[id]
			if k == nil {
				r, ok := m.Residence(id)
				if !ok {
					return nil, fmt.Errorf("kernel %d: tensor %q is not registered", n.ID, id)
				}
				k = &page{id: id, bytes: r.Bytes, last: none}
				p.byID[id] = k
			}
			if n := len(k.uses); n == 0 || k.uses[n-1] != place { // not named twice
				k.uses = append(k.uses, place)
			}
		}
		place++
	}
	for _, id := range slices.Sorted(maps.Keys(p.byID)) {
		p.sorts = append(p.sorts, p.byID[id])
	}
	return p, nil
}

// step plans the kernel at a position.
func (p *pages) step(place int, total *Paging) (Step, error) {
	n := &p.nodes[place]
	s := Step{Node: n.ID}
	var come []*page
	var need uint64
	for _, id := range n.Tensors {
		k := p.byID[id]
		if k.last == place {
			continue // named twice
		}
		k.last, k.uses = place, k.uses[1:]
		need += k.bytes
		if k.resident {
			s.Hits++
		} else {
			come = append(come, k)
		}
	}
	for _, k := range come {
		for p.used+k.bytes > p.limit {
			v := p.victim(place)
			if v == nil {
				return s, &FloorError{n.ID, need, p.limit}
			}
			s.Evict = append(s.Evict, p.evict(v, place))
			total.Out += v.bytes
		}
		k.resident = true
		p.used += k.bytes
		total.In += k.bytes
		s.Load = append(s.Load, k.id)
	}
	return s, nil
}

func (p *pages) evict(v *page, place int) Eviction {
	v.resident = false
	p.used -= v.bytes
	e := Eviction{ID: v.id}
	if len(v.uses) > 0 {
		e.Next = v.uses[0] - place
	}
	if v.last != none {
		e.After = &p.nodes[v.last].ID
	}
	return e
}

// victim chooses the tensor to evict for the kernel at a position. Tensors
// needed neither in this tick nor the next go first, then the one needed last.
// Tensors used by the kernels just before are spared if possible: they could
// only be evicted once that kernel has run, and the read could not overlap with
// it.
func (p *pages) victim(place int) *page {
	var best *page
	for _, k := range p.sorts {
		if k.resident && k.last != place && (best == nil || p.colder(k, best, place)) {
			best = k
		}
	}
	return best
}

// colder reports whether a is to be evicted before b.
func (p *pages) colder(a, b *page, place int) bool {
	if unused := len(a.uses) == 0; unused != (len(b.uses) == 0) {
		return unused
	}
	if len(a.uses) > 0 {
		if spared := a.last >= place-p.ahead; spared != (b.last >= place-p.ahead) {
			return !spared
		}
		if c := cmp.Compare(a.uses[0], b.uses[0]); c != 0 {
			return c > 0
		}
	}
	return a.bytes > b.bytes // ties go by id
}
