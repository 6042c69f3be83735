// The spanning tree of level 0. Its links, in both directions, are in the lists
// of its nodes and are never pruned, so that every live node can be reached from
// every other.

package index

import (
	"math"
	"slices"
)

// related reports whether two nodes are parent and child.
func (x *Graph) related(a, b uint32) bool { return x.parent[a] == b || x.parent[b] == a }

// branches counts a node's links of the tree.
func (x *Graph) branches(id uint32) (n int) {
	for _, nb := range x.list(id, 0) {
		if nb == none {
			break
		}
		if x.related(id, nb) {
			n++
		}
	}
	return n
}

// adopt gives a new node its parent: the nearest of those it links to, and that
// will be offered a link back, which is at most half full of branches, so that
// the heuristic has a say in each list.
func (x *Graph) adopt(id uint32, chosen []uint32) {
	for _, most := range []int{x.c.M, 2*x.c.M - 1} {
		for _, p := range chosen {
			if x.branches(p) <= most {
				x.parent[id] = p
				return
			}
		}
	}
	x.attach(id, x.roomy(chosen[0]))
}

// roomy returns a node with room for a branch, at or below one. A leaf of the
// tree has a single branch, so that there is one.
func (x *Graph) roomy(id uint32) uint32 {
	for x.branches(id) >= 2*x.c.M {
		for _, nb := range x.list(id, 0) {
			if x.parent[nb] == id {
				id = nb
				break
			}
		}
	}
	return id
}

// attach makes a node, which has no parent, the child of another.
func (x *Graph) attach(id, parent uint32) {
	x.parent[id] = parent
	x.connect(id, parent)
	x.connect(parent, id)
}

// connect makes sure that a node links to a relative: in place of a tombstone,
// at the end, or in place of the farthest link that is not of the tree.
func (x *Graph) connect(id, relative uint32) {
	list := x.list(id, 0)
	if slices.Contains(list, relative) {
		return
	}
	for i, nb := range list {
		if nb == none || x.dead[nb] {
			list[i] = relative
			return
		}
	}
	x.distances(x.w.dist, x.row(id), list)
	at, worst := -1, float32(math.Inf(-1))
	for i, d := range x.w.dist[:len(list)] {
		if d > worst && !x.related(id, list[i]) {
			at, worst = i, d
		}
	}
	list[at] = relative
}

// span makes the tree of a graph that was read, before it is changed for the
// first time: breadth first from the entry along the links there are. A node
// that no link leads to is attached to the nearest one that is found for it.
func (x *Graph) span() {
	if x.spread {
		return
	}
	x.spread = true
	x.fit(x.w)
	for i := range x.parent {
		x.parent[i] = none
	}
	if x.top < 0 {
		return
	}
	if x.dead[x.entry] {
		x.enter()
	}
	reached := make([]bool, x.linked())
	queue := make([]uint32, 0, x.linked())
	visit := func(from uint32) {
		reached[from] = true
		queue = append(queue[:0], from)
		for len(queue) > 0 {
			id := queue[0]
			queue = queue[1:]
			for _, nb := range slices.Clone(x.list(id, 0)) {
				if nb == none {
					break
				}
				if reached[nb] || x.dead[nb] || x.branches(id) >= 2*x.c.M {
					continue
				}
				x.attach(nb, id)
				reached[nb] = true
				queue = append(queue, nb)
			}
		}
	}
	if x.top >= 0 {
		visit(x.entry)
	}
	for id := range uint32(x.linked()) {
		if reached[id] || x.dead[id] {
			continue
		}
		x.explore(x.w, x.row(id), x.entry, 0, x.c.M)
		near := x.entry
		for _, p := range x.w.beam {
			if n := slotOf(p); reached[n] {
				near = n
				break
			}
		}
		x.attach(id, x.roomy(near))
		visit(id)
	}
}

// enter makes the live node with the highest level the entry, the first of them.
func (x *Graph) enter() {
	x.entry, x.top = none, -1
	for id := range x.linked() {
		if l := int(x.levels[id]); !x.dead[id] && l > x.top {
			x.entry, x.top = uint32(id), l
		}
	}
}
