package token

// A trie over byte strings, built at once: the children of a node are
// contiguous, in byte order.

import (
	"cmp"
	"slices"
	"sort"
)

// A trie finds the keys that are prefixes of a text.
type trie struct {
	first []int32    // children of node n are first[n] … first[n+1]-1
	label []byte     // last byte of a node's key
	value []int32    // of the key that ends at a node, or None
	Roots [256]int32 // the root's children by byte, or None
}

// newTrie returns a trie of keys with their values; of equal keys the last wins.
// Empty keys are ignored.
func newTrie(keys []string, values []int32) *trie {
	order := make([]int32, 0, len(keys))
	for i, k := range keys {
		if k != "" {
			order = append(order, int32(i))
		}
	}
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(keys[a], keys[b]), cmp.Compare(a, b))
	})
	type group struct{ lo, hi, depth int }
	t := &trie{label: []byte{0}, value: []int32{none}}
	queue := []group{{0, len(order), 0}}
	for len(queue) > 0 {
		g := queue[0]
		queue = queue[1:]
		t.first = append(t.first, int32(len(t.label)))
		node := len(t.first) - 1
		i := g.lo
		for i < g.hi && len(keys[order[i]]) == g.depth {
			t.value[node] = values[order[i]]
			i++
		}
		for i < g.hi {
			c := keys[order[i]][g.depth]
			j := i + sort.Search(g.hi-i, func(k int) bool { return keys[order[i+k]][g.depth] > c })
			t.label, t.value = append(t.label, c), append(t.value, none)
			queue = append(queue, group{i, j, g.depth + 1})
			i = j
		}
	}
	t.first = append(t.first, int32(len(t.label)))
	for i := range t.Roots {
		t.Roots[i] = none
	}
	for n := t.first[0]; n < t.first[1]; n++ {
		t.Roots[t.label[n]] = n
	}
	return t
}

// step returns the child of node for c, or None. The root is node 0.
func (t *trie) step(node int32, c byte) int32 {
	if node == 0 {
		return t.Roots[c]
	}
	lo, hi := t.first[node], t.first[node+1]
	for lo+8 < hi {
		mid := (lo + hi) / 2
		if t.label[mid] <= c {
			lo = mid
		} else {
			hi = mid
		}
	}
	for ; lo < hi; lo++ {
		if t.label[lo] == c {
			return lo
		}
	}
	return none
}

// Longest returns the end and the value of the longest key that is a prefix of
// s[i:], starting from the given node. end is -1 if there is none.
func (t *trie) Longest(s string, i int, node int32) (end int, value int32) {
	end, value = -1, none
	for ; i < len(s); i++ {
		if node = t.step(node, s[i]); node < 0 {
			break
		}
		if v := t.value[node]; v != none {
			end, value = i+1, v
		}
	}
	return end, value
}

// find returns the node of key, or None.
func (t *trie) find(key string) int32 {
	node := int32(0)
	for i := range len(key) {
		if node = t.step(node, key[i]); node < 0 {
			break
		}
	}
	return node
}
