// Deletion: tombstones, the repair around them, and sweeping them out.

package index

import "atenia/internal/kernel/dense"

// Delete removes a label. Its slot stays as a tombstone until a fifth of all
// slots are.
func (x *Graph) Delete(label uint64) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	id, ok := x.slots[label]
	if !ok {
		return &graphError{Op: "delete", Want: "a label that is there", Got: label, Kind: errUnknown}
	}
	linked := int(id) < x.linked()
	if linked {
		x.span()
	}
	delete(x.slots, label)
	x.dead[id] = true
	x.tombs++
	if linked {
		x.bypass(id)
	}
	if x.tombs*5 > len(x.labels) {
		x.compact()
	}
	return nil
}

// bypass links the neighbours of a new tombstone to each other.
func (x *Graph) bypass(id uint32) {
	x.fit(x.w)
	if id == x.entry {
		x.enter()
	}
	var around []uint32
	for l := range int(x.levels[id]) + 1 {
		around = around[:0]
		for _, nb := range x.list(id, l) {
			if nb != none && !x.dead[nb] {
				around = append(around, nb)
			}
		}
		if l == 0 {
			x.orphans(id, around)
		}
		for _, node := range around {
			list := x.list(node, l)
			n, links := degree(list), false
			w := &x.work
			w.begin(len(x.labels))
			w.meet(node)
			w.members = w.members[:0]
			for _, nb := range list[:n] {
				links = links || nb == id
				if w.meet(nb) {
					w.members = append(w.members, nb)
				}
			}
			if !links {
				continue
			}
			for _, nb := range around {
				if w.meet(nb) {
					w.members = append(w.members, nb)
				}
			}
			x.relink(node, w.members, l)
		}
	}
}

// orphans attaches the children of a tombstone to its parent or to each other.
func (x *Graph) orphans(id uint32, around []uint32) {
	up := x.parent[id]
	x.parent[id] = none
	var family, children []uint32
	if up != none {
		family = append(family, up)
	}
	for _, nb := range around {
		if x.parent[nb] == id {
			x.parent[nb] = none
			children = append(children, nb)
		}
	}
	for _, c := range children {
		if len(family) > 0 { // else it is the root
			x.distances(x.w.dist, x.row(c), family)
			near := 0
			for i, d := range x.w.dist[:len(family)] {
				if d < x.w.dist[near] {
					near = i
				}
			}
			x.attach(c, x.roomy(family[near]))
		}
		family = append(family, c)
	}
}

// compact sweeps the tombstones out: nodes that link to them are linked to what
// they linked to, and slots are numbered anew in the same order.
func (x *Graph) compact() {
	if x.tombs == 0 {
		return
	}
	if x.live() == 0 {
		x.reset()
		return
	}
	x.fit(x.w)
	most := levelCap(x.live())
	for id := range uint32(x.linked()) {
		if x.dead[id] {
			continue
		}
		for l := range int(x.levels[id]) + 1 {
			x.sweep(id, l)
		}
	}
	fresh := make([]uint32, len(x.labels))
	n := uint32(0)
	for id := range fresh {
		if fresh[id] = none; !x.dead[id] {
			fresh[id] = n
			n++
		}
	}
	moved := func(list []uint32) {
		for i, nb := range list {
			if nb == none {
				break
			}
			list[i] = fresh[nb]
		}
	}
	arena, linked := []uint32(nil), 0
	for id, to := range fresh {
		if to == none {
			continue
		}
		copy(x.row(to), x.row(uint32(id)))
		x.labels[to], x.dead[to], x.slots[x.labels[id]] = x.labels[id], false, to
		if id >= x.linked() {
			x.levels[to] = x.levels[id]
			continue
		}
		linked++
		level := min(int(x.levels[id]), most)
		moved(x.list(uint32(id), 0))
		copy(x.list(to, 0), x.list(uint32(id), 0))
		up := int32(-1)
		if level > 0 {
			up = int32(len(arena))
			for l := range level {
				list := x.list(uint32(id), l+1)
				moved(list)
				arena = append(arena, list...)
			}
		}
		x.upper[to], x.levels[to] = up, uint8(level) // to ≤ id: what was there has moved
		if x.parent[to] = x.parent[id]; x.parent[to] != none {
			x.parent[to] = fresh[x.parent[to]]
		}
	}
	x.labels, x.dead, x.levels = x.labels[:n], x.dead[:n], x.levels[:n]
	x.links, x.upper, x.parent, x.arena = x.links[:linked*2*x.c.M], x.upper[:linked], x.parent[:linked], arena
	x.tombs = 0
	if x.top >= 0 {
		x.entry, x.top = fresh[x.entry], min(x.top, most)
	}
	x.trim((int(n) + dense.PageRows - 1) / dense.PageRows)
}

// sweep replaces a node's links to tombstones at a level by theirs.
func (x *Graph) sweep(id uint32, level int) {
	list, w, dirty := x.list(id, level), &x.work, false
	w.begin(len(x.labels))
	w.meet(id)
	w.members = w.members[:0]
	for _, nb := range list[:degree(list)] {
		dirty = dirty || x.dead[nb]
		if w.meet(nb) {
			w.members = append(w.members, nb)
		}
	}
	if !dirty {
		return
	}
	for _, nb := range list[:degree(list)] {
		if !x.dead[nb] {
			continue
		}
		beyond := x.list(nb, level)
		for _, far := range beyond[:degree(beyond)] {
			if w.meet(far) {
				w.members = append(w.members, far)
			}
		}
	}
	x.relink(id, w.members, level)
}

// reset forgets all entries.
func (x *Graph) reset() {
	x.labels, x.dead, x.levels, x.tombs = x.labels[:0], x.dead[:0], x.levels[:0], 0
	x.links, x.upper, x.arena, x.parent = x.links[:0], x.upper[:0], x.arena[:0], x.parent[:0]
	x.entry, x.top, x.spread = none, -1, true
	clear(x.slots)
	x.trim(0)
}

// trim gives pages back.
func (x *Graph) trim(pages int) {
	for _, p := range x.pages[pages:] {
		x.c.Pages.Release(p)
	}
	clear(x.pages[pages:])
	clear(x.bases[pages:])
	x.pages, x.bases = x.pages[:pages], x.bases[:pages]
}

// Release gives all pages back. The index must not be used any more.
func (x *Graph) Release() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.reset()
}
