// The tree, its nodes and their pages, and reading.

package index

import (
	"iter"
	"sync"
	"sync/atomic"
)

// maxFanout is the most keys of a node.
const maxFanout = 64

// A Tree maps keys to values. Any number of goroutines may use it. Make one with
// [NewTree] or [ReadTree].
type Tree[V any] struct {
	root   atomic.Pointer[node[V]]
	first  *node[V] // the leftmost leaf: splits go right, so it stays
	count  atomic.Int64
	most   atomic.Int32
	splits atomic.Int64
	fanout int // of the file
}

// A node is where a page stands. Its identity is what parents and left
// neighbours keep.
type node[V any] struct {
	page  atomic.Pointer[page[V]]
	latch sync.Mutex // held by who replaces the page
	level int        // 0 for leaves
}

// A page is the content of a node and is not changed after it is stored there.
// A leaf has values, another node children: child i holds keys from keys[i] to
// below keys[i+1]. The leftmost child of a level stands under key 0, whatever
// the keys below are: smaller ones may come.
type page[V any] struct {
	n        int
	high     uint64 // if there is a right neighbour, its smallest possible key
	right    *node[V]
	values   []V        // [n]
	children []*node[V] // [n]
	keys     [maxFanout]uint64
}

// NewTree returns an empty tree.
func NewTree[V any]() *Tree[V] {
	t := &Tree[V]{fanout: maxFanout}
	t.first = &node[V]{}
	t.first.page.Store(&page[V]{})
	t.root.Store(t.first)
	return t
}

// Len is how many keys there are.
func (t *Tree[V]) Len() int { return int(t.count.Load()) }

// TreeStats say what writers did.
type TreeStats struct {
	Latches int   // the most that one operation held at a time
	Splits  int64 // of nodes
	Height  int   // levels
}

// Stats returns what has happened so far.
func (t *Tree[V]) Stats() TreeStats {
	return TreeStats{Latches: int(t.most.Load()), Splits: t.splits.Load(), Height: t.root.Load().level + 1}
}

// upper returns how many of the page's keys are at most key.
func (p *page[V]) upper(key uint64) int {
	lo, n := 0, p.n
	for n > 1 {
		half := n >> 1
		if p.keys[(lo+half)&(maxFanout-1)] <= key {
			lo += half
		}
		n -= half
	}
	if n == 1 && p.keys[lo&(maxFanout-1)] <= key {
		lo++
	}
	return lo
}

// past reports whether key lies right of the page.
func (p *page[V]) past(key uint64) bool { return p.right != nil && key >= p.high }

// child returns where key is to be looked for, one level down.
func (p *page[V]) child(key uint64) *node[V] { return p.children[p.upper(key)-1] }

// leaf returns the page that key belongs to, without latches.
func (t *Tree[V]) leaf(key uint64) *page[V] {
	n := t.root.Load()
	for {
		p := n.page.Load()
		switch {
		case p.past(key):
			n = p.right
		case n.level == 0:
			return p
		default:
			n = p.child(key)
		}
	}
}

// Get returns the value of a key. It takes no latch and waits for nobody.
func (t *Tree[V]) Get(key uint64) (v V, ok bool) {
	p := t.leaf(key)
	if i := p.upper(key) - 1; i >= 0 && p.keys[i&(maxFanout-1)] == key {
		return p.values[i], true
	}
	return v, false
}

// All returns keys and values in ascending order, without latches. Keys that are
// put or deleted meanwhile may be there or not; all others are, once.
func (t *Tree[V]) All() iter.Seq2[uint64, V] { return t.From(0) }

// From returns what [Tree.All] does, from a key on.
func (t *Tree[V]) From(key uint64) iter.Seq2[uint64, V] {
	return func(yield func(uint64, V) bool) {
		for p := t.leaf(key); ; p = p.right.page.Load() {
			for i, v := range p.values {
				if k := p.keys[i]; k >= key && !yield(k, v) {
					return
				}
			}
			if p.right == nil {
				return
			}
		}
	}
}
