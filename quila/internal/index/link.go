// Insertion: linking a node to its neighbours, and the heuristic that picks
// which links to keep.

package index

import "slices"

// A writer is the scratch of changes, beside that of a search.
type writer struct {
	candidates []uint64
	selected   []uint32 // by the heuristic
	chosen     []uint32 // links of a new node
	members    []uint32
	mark       []uint32 // equal to round where a node has been met
	round      uint32
}

// meet reports whether a node is met for the first time since begin.
func (w *writer) meet(id uint32) bool {
	if w.mark[id] == w.round {
		return false
	}
	w.mark[id] = w.round
	return true
}

// begin forgets what was met.
func (w *writer) begin(n int) {
	if len(w.mark) < n {
		w.mark = append(w.mark, make([]uint32, n-len(w.mark)+n/2)...)
	}
	if w.round++; w.round == 0 {
		clear(w.mark)
		w.round = 1
	}
}

// linkAll puts the slots that are not there yet into the graph.
func (x *Graph) linkAll() {
	x.span()
	for id := x.linked(); id < len(x.labels); id++ {
		x.link(uint32(id))
	}
}

// link puts the next slot into the graph.
func (x *Graph) link(id uint32) {
	for range 2 * x.c.M {
		x.links = append(x.links, none)
	}
	x.parent, x.upper = append(x.parent, none), append(x.upper, -1)
	if x.dead[id] {
		x.levels[id] = 0
		return
	}
	level := int(x.levels[id])
	if level > 0 {
		x.upper[id] = int32(len(x.arena))
		for range level * x.c.M {
			x.arena = append(x.arena, none)
		}
	}
	if x.top < 0 {
		x.entry, x.top = id, level
		return
	}
	x.fit(x.w)
	q := x.row(id)
	at := x.descend(x.w, q, x.top, level)
	for l := min(level, x.top); l >= 0; l-- {
		if x.dead[at] {
			at = x.entry
		}
		x.explore(x.w, q, at, l, x.c.EfConstruction)
		at = slotOf(x.w.beam[0])
		x.work.candidates = x.work.candidates[:0]
		for _, p := range x.w.beam {
			if n := slotOf(p); n != id && !x.dead[n] {
				x.work.candidates = append(x.work.candidates, p&^expanded)
			}
		}
		x.work.chosen = append(x.work.chosen[:0], x.choose(id, x.c.M, false)...)
		copy(x.list(id, l), x.work.chosen)
		if l == 0 {
			x.adopt(id, x.work.chosen)
		}
		for _, n := range x.work.chosen {
			x.offer(n, id, l)
		}
	}
	if level > x.top {
		x.entry, x.top = id, level
	}
}

// choose picks at most m of the candidates, which ascend by their distance to a
// node, as hnswlib's getNeighborsByHeuristic2 does: one is left out if it is
// nearer to one that was picked than to the node. Fewer than m are all picked.
// If keep is set, links of the spanning tree always are. The result is used up
// by the next call.
func (x *Graph) choose(node uint32, m int, keep bool) []uint32 {
	const piece = 8 // picked ones are compared in pieces, since a near one is soon found
	w := &x.work
	w.selected = w.selected[:0]
	if len(w.candidates) < m {
		for _, p := range w.candidates {
			w.selected = append(w.selected, slotOf(p))
		}
		return w.selected
	}
	kept := 0
	if keep {
		for _, p := range w.candidates {
			if x.related(node, slotOf(p)) {
				kept++
			}
		}
	}
candidates:
	for _, p := range w.candidates {
		id := slotOf(p)
		if keep && x.related(node, id) {
			w.selected = append(w.selected, id)
			kept--
			continue
		}
		if len(w.selected)+kept >= m {
			if kept == 0 {
				break
			}
			continue
		}
		d, row := distanceOf(p), x.row(id)
		for rest := w.selected; len(rest) > 0; {
			n := min(piece, len(rest))
			x.distances(x.w.dist, row, rest[:n])
			for _, between := range x.w.dist[:n] {
				if between < d {
					continue candidates
				}
			}
			rest = rest[n:]
		}
		w.selected = append(w.selected, id)
	}
	return w.selected
}

// offer adds a link from a node, if need be in place of others.
func (x *Graph) offer(node, link uint32, level int) {
	list := x.list(node, level)
	if n := degree(list); n < len(list) {
		list[n] = link
		return
	}
	w := &x.work
	w.members = append(w.members[:0], list...)
	x.relink(node, append(w.members, link), level)
}

// relink chooses the links of a node at a level among some nodes, which are
// different and not the node itself.
func (x *Graph) relink(node uint32, members []uint32, level int) {
	w := &x.work
	w.members = slices.DeleteFunc(members, func(id uint32) bool { return x.dead[id] })
	w.candidates = w.candidates[:0]
	for rest := w.members; len(rest) > 0; {
		n := min(len(x.w.dist), len(rest))
		x.distances(x.w.dist, x.row(node), rest[:n])
		for i, d := range x.w.dist[:n] {
			w.candidates = append(w.candidates, place(d, rest[i]))
		}
		rest = rest[n:]
	}
	slices.Sort(w.candidates)
	list := x.list(node, level)
	n := copy(list, x.choose(node, len(list), level == 0))
	for i := n; i < len(list); i++ {
		list[i] = none
	}
}
