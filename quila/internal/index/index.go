// The index, its parameters and its errors.

package index

import (
	"errors"
	"fmt"
	"math"
	"sync"

	"atenia/internal/kernel/dense"
	"atenia/quila/internal/weights"
)

// A Metric is how distances are measured.
type Metric int

// cosine is one minus the product, for vectors of norm one; L2 is the squared
// Euclidean distance.
const (
	cosine Metric = iota
	euclidean
)

// An Allocator provides the pages of vectors, so that they can lie in managed
// memory. The default takes them from the heap.
type Allocator interface {
	Page(floats int) ([]float32, error)
	Release(page []float32)
}

type heap struct{}

func (heap) Page(floats int) ([]float32, error) { return make([]float32, floats), nil }
func (heap) Release([]float32)                  {}

// A GraphConfig says what an index is like. Zero values of M, EfConstruction and Ef
// are those of [DefaultGraph]; ExactBelow is used as it is.
type GraphConfig struct {
	Dim            int
	Metric         Metric
	M              int            // links on the upper levels; twice as many on level 0
	EfConstruction int            // width of the beam of an insertion
	Ef             int            // width of the beam of a search, if it does not say
	ExactBelow     int            // fewer entries are all compared; 0 or at least 256
	Stream         weights.Stream // of levels; the tick is replaced by a serial number
	Pages          Allocator
}

// DefaultGraph returns the parameters of.
func DefaultGraph(dim int) GraphConfig {
	return GraphConfig{Dim: dim, M: 16, EfConstruction: 200, Ef: 64, ExactBelow: 2000}
}

// Limits of the parameters.
const (
	mostM     = 64
	mostDim   = 1 << 16
	mostEf    = 1 << 16
	leastScan = 256
	mostSlots = 1<<31 - 2
)

// Sentinels that an [graphError] matches.
var (
	errConfig      = errors.New("hnsw: parameter out of range")
	errVector      = errors.New("hnsw: unusable vector")
	errDuplicate   = errors.New("hnsw: label is taken")
	errUnknown     = errors.New("hnsw: no such label")
	errFull        = errors.New("hnsw: too many entries")
	ErrGraphFormat = errors.New("hnsw: malformed image")
)

// An graphError says what was asked and why it is refused. It matches one of the
// sentinels.
type graphError struct {
	Op        string // add, delete, search or what was read
	Offset    int64  // in the image, if it is about one
	Want, Got any
	Kind      error
}

func (e *graphError) Error() string {
	if e.Kind == ErrGraphFormat {
		return fmt.Sprintf("%v: %s at byte %d: want %v, got %v", e.Kind, e.Op, e.Offset, e.Want, e.Got)
	}
	return fmt.Sprintf("%v: %s: want %v, got %v", e.Kind, e.Op, e.Want, e.Got)
}

func (e *graphError) Unwrap() error { return e.Kind }

// none ends a list of links, and stands for no node.
const none = math.MaxUint32

// An Graph holds labelled vectors. Any number of goroutines may search while one
// at a time changes it; the others wait. Make one with [NewGraph] or [ReadGraph].
type Graph struct {
	mu     sync.RWMutex
	c      GraphConfig
	stride int // floats of a row, Dim rounded up to 16; the rest are zero

	pages  [][]float32
	bases  []*float32 // of pages
	labels []uint64   // by slot
	dead   []bool     // tombstones
	levels []uint8
	slots  map[uint64]uint32 // by label, of live entries
	tombs  int
	serial uint64 // of the next entry

	// The graph over the slots below len(links)/2M. Lists end with none.
	links  []uint32 // level 0, 2M each
	upper  []int32  // where the lists of a node's levels begin in arena, −1 if it has none
	arena  []uint32 // M for each level above 0
	parent []uint32 // in the spanning tree, none for the root
	spread bool     // parent is there
	entry  uint32
	top    int // level of entry; −1 if there is no graph

	capacity uint64 // what the image said, to write it again
	mult     float64

	w    *scratch // of the writer
	work writer
	idle struct {
		sync.Mutex
		free []*scratch
	}
}

// NewGraph returns an empty index.
func NewGraph(c GraphConfig) (*Graph, error) {
	d := DefaultGraph(c.Dim)
	for _, p := range []struct {
		value *int
		usual int
	}{{&c.M, d.M}, {&c.EfConstruction, d.EfConstruction}, {&c.Ef, d.Ef}} {
		if *p.value == 0 {
			*p.value = p.usual
		}
	}
	if c.Pages == nil {
		c.Pages = heap{}
	}
	for _, p := range []struct {
		name      string
		v, lo, hi int
	}{{"dim", c.Dim, 1, mostDim}, {"M", c.M, 2, mostM}, {"ef_construction", c.EfConstruction, 1, mostEf}, {"ef", c.Ef, 1, mostEf}, {"metric", int(c.Metric), 0, 1}} {
		if p.v < p.lo || p.v > p.hi {
			return nil, &graphError{Op: p.name, Want: fmt.Sprintf("%d to %d", p.lo, p.hi), Got: p.v, Kind: errConfig}
		}
	}
	if c.ExactBelow != 0 && c.ExactBelow < leastScan {
		return nil, &graphError{Op: "exact_below", Want: fmt.Sprintf("0 or at least %d", leastScan), Got: c.ExactBelow, Kind: errConfig}
	}
	x := &Graph{c: c, stride: (c.Dim + 15) &^ 15, slots: map[uint64]uint32{}, entry: none, top: -1, spread: true, mult: 1 / math.Log(float64(c.M))}
	x.w = &scratch{}
	x.work.selected = make([]uint32, 0, 2*c.M+1)
	return x, nil
}

// Config returns the parameters with all defaults filled in.
func (x *Graph) Config() GraphConfig { return x.c }

// Len is how many entries there are.
func (x *Graph) Len() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.live()
}

func (x *Graph) live() int { return len(x.labels) - x.tombs }

// linked is how many slots the graph covers.
func (x *Graph) linked() int { return len(x.links) / (2 * x.c.M) }

// graph reports whether searches go through the graph.
func (x *Graph) graph() bool { return x.live() >= max(x.c.ExactBelow, 1) }

// GraphStats describe an index.
type GraphStats struct {
	Entries    int
	Tombstones int
	Linked     int   // slots in the graph
	Levels     []int // live nodes by their top level
	Degree     int   // largest on level 0
	Upper      int   // largest above
	Reached    int   // live nodes that links lead to from the entry, on level 0
}

// Stats walks the whole graph.
func (x *Graph) Stats() GraphStats {
	x.mu.RLock()
	defer x.mu.RUnlock()
	s := GraphStats{Entries: x.live(), Tombstones: x.tombs, Linked: x.linked(), Levels: make([]int, x.top+1)}
	for id := range x.linked() {
		if x.dead[id] {
			continue
		}
		s.Levels[x.levels[id]]++
		for l := range int(x.levels[id]) + 1 {
			n := degree(x.list(uint32(id), l))
			if l == 0 {
				s.Degree = max(s.Degree, n)
			} else {
				s.Upper = max(s.Upper, n)
			}
		}
	}
	if x.top < 0 {
		return s
	}
	seen, queue := make([]bool, x.linked()), []uint32{x.entry}
	seen[x.entry] = true
	for len(queue) > 0 {
		id := queue[0]
		queue = queue[1:]
		s.Reached++
		for _, nb := range x.list(id, 0) {
			if nb == none {
				break
			}
			if !seen[nb] && !x.dead[nb] {
				seen[nb] = true
				queue = append(queue, nb)
			}
		}
	}
	return s
}

// Add stores a copy of a vector under a new label.
func (x *Graph) Add(label uint64, v []float32) error {
	if err := x.usable("add", v); err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if _, taken := x.slots[label]; taken {
		return &graphError{Op: "add", Want: "a new label", Got: label, Kind: errDuplicate}
	}
	if err := x.store(label, v); err != nil {
		return err
	}
	if x.graph() {
		x.linkAll()
	}
	return nil
}

// usable checks what was given as a vector.
func (x *Graph) usable(op string, v []float32) error {
	if len(v) != x.c.Dim {
		return &graphError{Op: op, Want: fmt.Sprintf("%d values", x.c.Dim), Got: len(v), Kind: errVector}
	}
	for i, f := range v {
		if f-f != 0 {
			return &graphError{Op: op, Want: fmt.Sprintf("a finite value %d", i), Got: f, Kind: errVector}
		}
	}
	return nil
}

// store appends a slot, with its level.
func (x *Graph) store(label uint64, v []float32) error {
	id := len(x.labels)
	if id >= mostSlots {
		return &graphError{Op: "add", Want: fmt.Sprintf("at most %d", mostSlots), Got: id, Kind: errFull}
	}
	if err := x.room(id); err != nil {
		return err
	}
	row := x.row(uint32(id))
	clear(row[copy(row, v):])
	stream := x.c.Stream
	stream.Tick = x.serial
	u := (float64(stream.Block(0)[0]) + 1) * 0x1p-32
	x.serial++
	level := min(int(-math.Log(u)/math.Log(float64(x.c.M))), levelCap(id+1))
	x.labels, x.dead, x.levels = append(x.labels, label), append(x.dead, false), append(x.levels, uint8(level))
	x.slots[label] = uint32(id)
	return nil
}

// levelCap is the highest level among n entries, so that there are ⌊ln n⌋+1.
func levelCap(n int) int { return int(math.Log(float64(n))) }

// room makes sure that a slot has memory. The first page grows, the others are
// made at once.
func (x *Graph) room(id int) error {
	at, size := id/dense.PageRows, dense.PageRows*x.stride
	if at == 0 {
		size = 16 * x.stride
		for size < (id+1)*x.stride {
			size *= 2
		}
	}
	if at < len(x.pages) && len(x.pages[at]) >= size {
		return nil
	}
	page, err := x.c.Pages.Page(size)
	if err != nil {
		return fmt.Errorf("hnsw: page of %d values: %w", size, err)
	}
	if at < len(x.pages) {
		copy(page, x.pages[at])
		x.c.Pages.Release(x.pages[at])
		x.pages[at], x.bases[at] = page, &page[0]
		return nil
	}
	x.pages, x.bases = append(x.pages, page), append(x.bases, &page[0])
	return nil
}

// row is the vector of a slot, with its padding.
func (x *Graph) row(id uint32) []float32 {
	return x.pages[id/dense.PageRows][int(id%dense.PageRows)*x.stride:][:x.stride]
}

// Vector appends the vector of a label to dst.
func (x *Graph) Vector(dst []float32, label uint64) ([]float32, error) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	id, ok := x.slots[label]
	if !ok {
		return dst, &graphError{Op: "vector", Want: "a label that is there", Got: label, Kind: errUnknown}
	}
	return append(dst, x.row(id)[:x.c.Dim]...), nil
}

// list is the links of a node at a level, up to its capacity.
func (x *Graph) list(id uint32, level int) []uint32 {
	if level == 0 {
		return x.links[int(id)*2*x.c.M:][: 2*x.c.M : 2*x.c.M]
	}
	return x.arena[int(x.upper[id])+(level-1)*x.c.M:][:x.c.M:x.c.M]
}

// degree is how many links a list has.
func degree(list []uint32) int {
	for i, id := range list {
		if id == none {
			return i
		}
	}
	return len(list)
}
