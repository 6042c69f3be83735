// Put, Update and Delete: what latches and splits nodes.

package index

import "slices"

// A holder counts the latches of one operation.
type holder[V any] struct{ held, most int32 }

func (h *holder[V]) latch(n *node[V]) {
	n.latch.Lock()
	h.held++
	h.most = max(h.most, h.held)
}

func (h *holder[V]) release(n *node[V]) {
	h.held--
	n.latch.Unlock()
}

// settle latches the node that key belongs to, which is n or lies right of it.
// A neighbour is latched before n is released, so that it cannot be passed by.
func (h *holder[V]) settle(n *node[V], key uint64) (*node[V], *page[V]) {
	h.latch(n)
	for {
		p := n.page.Load()
		if !p.past(key) {
			return n, p
		}
		h.latch(p.right)
		h.release(n)
		n = p.right
	}
}

// note keeps the largest number of latches.
func (t *Tree[V]) note(h *holder[V]) {
	for {
		most := t.most.Load()
		if h.most <= most || t.most.CompareAndSwap(most, h.most) {
			return
		}
	}
}

// maxLevels bounds the height: 32 levels of half full nodes are more than 2^64.
const maxLevels = 32

// descend returns the node at a level where the search for key begins, and fills
// path with the nodes gone through above it, by level.
func (t *Tree[V]) descend(key uint64, level int, path *[maxLevels]*node[V]) *node[V] {
	n := t.root.Load()
	for n.level > level {
		p := n.page.Load()
		if p.past(key) {
			n = p.right
			continue
		}
		path[n.level] = n
		n = p.child(key)
	}
	return n
}

// Put sets the value of a key and reports whether it is new.
func (t *Tree[V]) Put(key uint64, v V) (added bool) {
	return t.change(key, func(V, bool) (V, bool) { return v, true }) == 1
}

// Update replaces the value of a key by what f returns for the present one and
// reports whether the key is there. Writers of the neighbourhood wait for f,
// readers do not.
func (t *Tree[V]) Update(key uint64, f func(V) V) (found bool) {
	t.change(key, func(v V, ok bool) (V, bool) {
		if found = ok; ok {
			v = f(v)
		}
		return v, ok
	})
	return found
}

// Delete removes a key and reports whether it was there.
func (t *Tree[V]) Delete(key uint64) bool {
	return t.change(key, func(v V, _ bool) (V, bool) { return v, false }) == -1
}

// change asks f, which is given the present value if there is one, what the
// value of key shall be, if any, and returns how many keys that adds.
func (t *Tree[V]) change(key uint64, f func(v V, ok bool) (V, bool)) int {
	var path [maxLevels]*node[V]
	var h holder[V]
	n, p := h.settle(t.descend(key, 0, &path), key)
	defer t.note(&h)
	i := p.upper(key)
	found := i > 0 && p.keys[i-1] == key
	var v V
	if found {
		i--
		v = p.values[i]
	}
	v, keep := f(v, found)
	switch {
	case found && keep:
		q := *p
		q.values = slices.Clone(p.values)
		q.values[i] = v
		n.page.Store(&q)
	case found:
		q := *p
		copy(q.keys[i:q.n], p.keys[i+1:p.n])
		q.values = make([]V, p.n-1)
		copy(q.values, p.values[:i])
		copy(q.values[i:], p.values[i+1:])
		q.n--
		n.page.Store(&q)
		t.count.Add(-1)
		h.release(n)
		return -1
	case keep:
		t.count.Add(1)
		if p.n < maxFanout {
			n.page.Store(p.with(i, key, v, nil))
		} else {
			t.split(&h, n, p, i, key, v, nil, &path)
			return 1
		}
		h.release(n)
		return 1
	}
	h.release(n)
	return 0
}

// with returns the page and one more key at i, of a value or of a child.
func (p *page[V]) with(i int, key uint64, v V, child *node[V]) *page[V] {
	q := &page[V]{n: p.n + 1, high: p.high, right: p.right}
	copy(q.keys[:i], p.keys[:i])
	q.keys[i] = key
	copy(q.keys[i+1:], p.keys[i:p.n])
	if child != nil {
		q.children = inserted(p.children, i, child)
	} else {
		q.values = inserted(p.values, i, v)
	}
	return q
}

// inserted returns a copy of s with v at i.
func inserted[T any](s []T, i int, v T) []T {
	out := make([]T, len(s)+1)
	copy(out, s[:i])
	out[i] = v
	copy(out[i+1:], s[i:])
	return out
}

// part returns keys from to below to of a page.
func (p *page[V]) part(from, to int) *page[V] {
	q := &page[V]{n: to - from}
	copy(q.keys[:], p.keys[from:to])
	if p.children != nil {
		q.children = slices.Clone(p.children[from:to])
	} else {
		q.values = slices.Clone(p.values[from:to])
	}
	return q
}

// split adds a key at i to the full page p of n, which is latched: n keeps the
// lower half, a new right neighbour gets the upper one, and the parent learns of
// it, which may split it in turn. All latches are released.
func (t *Tree[V]) split(h *holder[V], n *node[V], p *page[V], i int, key uint64, v V, child *node[V], path *[maxLevels]*node[V]) {
	for {
		t.splits.Add(1)
		mid := maxFanout / 2
		if p.right == nil && i == p.n {
			mid = maxFanout - 1 // ascending keys fill their nodes
		}
		low, high := p.part(0, mid), p.part(mid, p.n)
		if i <= mid {
			low = low.with(i, key, v, child)
		} else {
			high = high.with(i-mid, key, v, child)
		}
		fresh := &node[V]{level: n.level}
		high.right, high.high = p.right, p.high
		low.right, low.high = fresh, high.keys[0]
		fresh.page.Store(high)
		if t.root.Load() == n {
			// The root is stored before the lower half: who finds the new
			// neighbour to be full then also finds its parent. Who still comes
			// through n meets the old page, or waits for the latch.
			root := &node[V]{level: n.level + 1}
			top := &page[V]{n: 2, children: []*node[V]{n, fresh}}
			top.keys[1] = high.keys[0] // under key 0 is n
			root.page.Store(top)
			t.root.Store(root)
			n.page.Store(low)
			h.release(n)
			return
		}
		n.page.Store(low)
		at := path[n.level+1]
		if at == nil { // n was the root when the search began
			at = t.descend(low.high, n.level+1, path)
		}
		parent, pp := h.settle(at, low.high)
		h.release(n)
		n, p, key, child = parent, pp, low.high, fresh
		i = p.upper(key)
		if p.n < maxFanout {
			n.page.Store(p.with(i, key, v, child))
			h.release(n)
			return
		}
	}
}
