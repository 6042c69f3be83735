// The invariants of the tree.

package index

import "fmt"

// Check walks the tree and reports the first fault: on each level, right links
// lead from the leftmost node through all nodes, whose keys ascend and lie
// between the high key before and their own; the parents of the level above
// name each of them once, in order, under its smallest possible key. Nobody may
// write to the tree meanwhile.
func (t *Tree[V]) Check() error {
	type seat struct {
		n   *node[V]
		low uint64
	}
	var below []seat // what the level above names; for the root what there is
	below = append(below, seat{t.root.Load(), 0})
	keys := 0
	for level := below[0].n.level; level >= 0; level-- {
		var next []seat
		n, low := below[0].n, uint64(0)
		for i := 0; ; i++ {
			fault := func(what string, got, want any) error {
				return fmt.Errorf("blink: level %d, node %d: %s is %v, want %v", level, i, what, got, want)
			}
			p := n.page.Load()
			switch {
			case i >= len(below):
				return fault("number of nodes that the parents name", len(below), "more")
			case below[i].n != n:
				return fault("node that the parents name", below[i].low, low)
			case below[i].low != low:
				return fault("key in the parent", below[i].low, low)
			case n.level != level:
				return fault("level", n.level, level)
			case level == 0 && len(p.values) != p.n || level > 0 && len(p.children) != p.n:
				return fault("number of entries", len(p.values)+len(p.children), p.n)
			case level > 0 && (p.n == 0 || p.keys[0] != low):
				return fault("first key", p.keys[0], low)
			}
			for j, k := range p.keys[:p.n] {
				if k < low || j > 0 && k <= p.keys[j-1] || p.right != nil && k >= p.high {
					return fault("key", k, fmt.Sprintf("%d to below %d, ascending", low, p.high))
				}
				if level > 0 {
					next = append(next, seat{p.children[j], k})
				}
			}
			if level == 0 {
				keys += p.n
			}
			if p.right == nil {
				if i+1 < len(below) {
					return fault("number of nodes that the parents name", len(below), i+1)
				}
				break
			}
			n, low = p.right, p.high
		}
		below = next
	}
	if keys != t.Len() {
		return fmt.Errorf("blink: %d keys are in the leaves, want %d", keys, t.Len())
	}
	return nil
}
