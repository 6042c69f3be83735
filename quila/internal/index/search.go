// Search: the beam, and the scan of all entries.

package index

import (
	"fmt"
	"math"

	"atenia/internal/kernel/dense"
)

// A Hit is an entry that was found.
type Hit struct {
	Label    uint64
	Distance float32
}

// A scratch is what one search needs.
type scratch struct {
	query   []float32
	visited []uint8 // equal to epoch where the search was
	epoch   uint8
	beam    []uint64 // ascending places, see [place]
	ids     []uint32
	dist    []float32
}

// take returns an idle scratch with room for all slots.
func (x *Graph) take() *scratch {
	x.idle.Lock()
	var s *scratch
	if n := len(x.idle.free); n > 0 {
		s, x.idle.free = x.idle.free[n-1], x.idle.free[:n-1]
	}
	x.idle.Unlock()
	if s == nil {
		s = &scratch{}
	}
	x.fit(s)
	return s
}

// fit makes a scratch large enough.
func (x *Graph) fit(s *scratch) {
	if s.query == nil {
		s.query = make([]float32, x.stride)
		s.ids, s.dist = make([]uint32, max(dense.PageRows, 2*x.c.M)), make([]float32, max(dense.PageRows, 2*x.c.M))
	}
	if n := len(x.labels); len(s.visited) < n {
		s.visited, s.epoch = make([]uint8, max(n, cap(x.labels))), 0
	}
}

func (x *Graph) give(s *scratch) {
	x.idle.Lock()
	x.idle.free = append(x.idle.free, s)
	x.idle.Unlock()
}

// begin forgets what was visited.
func (s *scratch) begin() {
	if s.epoch++; s.epoch == 0 {
		clear(s.visited)
		s.epoch = 1
	}
}

// A place orders nodes by distance and then by slot: the bits of the distance,
// so that they ascend with it, then the slot, then whether the node's links have
// been followed.
func place(d float32, id uint32) uint64 {
	b := math.Float32bits(d)
	b ^= uint32(int32(b)>>31) | 1<<31
	return uint64(b)<<32 | uint64(id)<<1
}

const expanded = 1

func slotOf(p uint64) uint32 { return uint32(p) >> 1 }

func distanceOf(p uint64) float32 {
	b := uint32(p >> 32)
	return math.Float32frombits(b ^ (uint32(^int32(b)>>31) | 1<<31))
}

// lowerBound returns where p belongs in an ascending list.
func lowerBound(list []uint64, p uint64) int {
	lo, n := 0, len(list)
	for n > 0 {
		half := n >> 1
		if list[lo+half] < p {
			lo += n - half
		}
		n = half
	}
	return lo
}

// distances compares a padded vector with slots.
func (x *Graph) distances(dst, v []float32, ids []uint32) {
	if x.c.Metric == euclidean {
		dense.SquaresPages(dst, v, x.bases, ids)
		return
	}
	dense.DotPages(dst, v, x.bases, ids)
	dst = dst[:len(ids)]
	for i, d := range dst {
		dst[i] = 1 - d
	}
}

// Search appends to dst the k entries nearest to q, the nearest first and of
// equal ones the earlier, with a beam of at least ef; 0 means that of the
// parameters. If dst has room it allocates nothing.
func (x *Graph) Search(dst []Hit, q []float32, k, ef int) ([]Hit, error) {
	if err := x.usable("search", q); err != nil {
		return dst, err
	}
	if ef == 0 {
		ef = x.c.Ef
	}
	if k < 1 || k > mostEf || ef < 1 || ef > mostEf {
		return dst, &graphError{Op: "search", Want: fmt.Sprintf("k and ef of 1 to %d", mostEf), Got: [2]int{k, ef}, Kind: errConfig}
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.live() == 0 {
		return dst, nil
	}
	s := x.take()
	defer x.give(s)
	copy(s.query, q)
	if x.graph() {
		x.explore(s, s.query, x.descend(s, s.query, x.top, 0), 0, max(ef, k))
	} else {
		x.scan(s, s.query, k)
	}
	for _, p := range s.beam {
		if id := slotOf(p); !x.dead[id] {
			if dst = append(dst, Hit{x.labels[id], distanceOf(p)}); k == 1 {
				break
			}
			k--
		}
	}
	return dst, nil
}

// scan leaves the k nearest of all entries in the beam.
func (x *Graph) scan(s *scratch, q []float32, k int) {
	s.beam = s.beam[:0]
	bound := float32(math.Inf(1))
	for first := 0; first < len(x.labels); first += dense.PageRows {
		n := min(dense.PageRows, len(x.labels)-first)
		for i := range n {
			s.ids[i] = uint32(first + i)
		}
		x.distances(s.dist, q, s.ids[:n])
		for i, d := range s.dist[:n] {
			if d >= bound || x.dead[first+i] {
				continue
			}
			s.insert(place(d, uint32(first+i)))
			if len(s.beam) >= k {
				s.beam = s.beam[:k]
				bound = distanceOf(s.beam[k-1])
			}
		}
	}
}

// insert puts a place into the beam and returns where.
func (s *scratch) insert(p uint64) int {
	at := lowerBound(s.beam, p)
	s.beam = append(s.beam, 0)
	copy(s.beam[at+1:], s.beam[at:])
	s.beam[at] = p
	return at
}

// descend goes greedily from the entry through levels from top to above level
// and returns the node that is nearest to q there.
func (x *Graph) descend(s *scratch, q []float32, top, level int) uint32 {
	at := x.entry
	s.ids[0] = at
	x.distances(s.dist, q, s.ids[:1])
	best := s.dist[0]
	for l := top; l > level; l-- {
		for moved := true; moved; {
			moved = false
			list := x.list(at, l)
			list = list[:degree(list)]
			x.distances(s.dist, q, list)
			for i, d := range s.dist[:len(list)] {
				if d < best {
					best, at, moved = d, list[i], true
				}
			}
		}
	}
	if x.dead[at] { // its links may lead to tombstones only
		return x.entry
	}
	return at
}

// explore leaves the ef nodes nearest to q that a best-first search from a node
// finds at a level in the beam, and tombstones between them.
func (x *Graph) explore(s *scratch, q []float32, from uint32, level, ef int) {
	s.begin()
	visited, epoch, ids, dist := s.visited, s.epoch, s.ids, s.dist
	ids[0] = from
	x.distances(dist, q, ids[:1])
	s.beam = append(s.beam[:0], place(dist[0], from))
	visited[from] = epoch
	tombs, live := x.tombs > 0, 0
	if !x.dead[from] {
		live = 1
	}
	bound := float32(math.Inf(1))
	if live == ef {
		bound = dist[0]
	}
	for next := 0; next < len(s.beam); {
		p := s.beam[next]
		if p&expanded != 0 {
			next++
			continue
		}
		s.beam[next] = p | expanded
		n := 0
		for _, id := range x.list(slotOf(p), level) {
			if id == none {
				break
			}
			was := visited[id]
			visited[id], ids[n] = epoch, id
			if was != epoch {
				n++
			}
		}
		x.distances(dist, q, ids[:n])
		for i, d := range dist[:n] {
			if d >= bound {
				continue
			}
			id := ids[i]
			next = min(next, s.insert(place(d, id)))
			if tombs && x.dead[id] {
				continue
			}
			if live++; live < ef {
				continue
			}
			if live > ef {
				s.beam = s.beam[:len(s.beam)-1]
				live = ef
			}
			last := len(s.beam) - 1
			for tombs && x.dead[slotOf(s.beam[last])] {
				last--
			}
			s.beam = s.beam[:last+1]
			bound = distanceOf(s.beam[last])
		}
	}
}
