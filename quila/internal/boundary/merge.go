package boundary

import "container/heap"

// A joint is a pair of neighbours that may be merged: at is the left one's place.
type joint struct {
	code, at int32
	pair     [2]int32
}

// joints is a heap: earlier merges first, then those further left.
type joints []joint

func (h joints) Len() int { return len(h) }
func (h joints) Less(i, j int) bool {
	return h[i].code < h[j].code || h[i].code == h[j].code && h[i].at < h[j].at
}
func (h joints) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *joints) Push(x any)   { *h = append(*h, x.(joint)) }
func (h *joints) Pop() any {
	x := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return x
}

// merge joins neighbours in O(n log n): the codes are a list, and a joint whose
// pair has changed since it was found is dropped when its turn comes.
func (t *Tokenizer) merge(codes []int32) []int32 {
	n := int32(len(codes))
	next, before := make([]int32, n), make([]int32, n)
	var h joints
	see := func(i int32) {
		if i < 0 || next[i] >= n {
			return
		}
		pair := [2]int32{codes[i], codes[next[i]]}
		if code, ok := t.rank[pair]; ok {
			heap.Push(&h, joint{code, i, pair})
		}
	}
	for i := range n {
		next[i], before[i] = i+1, i-1
	}
	for i := range n {
		see(i)
	}
	for h.Len() > 0 {
		j := heap.Pop(&h).(joint)
		i := j.at
		if codes[i] != j.pair[0] || next[i] >= n || codes[next[i]] != j.pair[1] {
			continue
		}
		gone := next[i]
		codes[i], codes[gone] = j.code, -1
		next[i] = next[gone]
		if next[i] < n {
			before[next[i]] = i
		}
		see(before[i])
		see(i)
	}
	out := codes[:0]
	for i := int32(0); i < n; i = next[i] {
		out = append(out, codes[i])
	}
	return out
}
