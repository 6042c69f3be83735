package index

import "testing"

// TestUnfinishedSplit: between a split and the news of it in the parent, the
// right neighbour is found by the link alone, from its first key on.
func TestUnfinishedSplit(t *testing.T) {
	tree, right := NewTree[int](), &node[int]{}
	low := &page[int]{n: 2, high: 10, right: right, values: []int{1, 5}}
	low.keys[0], low.keys[1] = 1, 5
	high := &page[int]{n: 2, values: []int{10, 11}}
	high.keys[0], high.keys[1] = 10, 11
	right.page.Store(high)
	tree.first.page.Store(low)
	tree.count.Store(4)
	for _, key := range []uint64{1, 5, 10, 11} {
		if v, ok := tree.Get(key); !ok || v != int(key) {
			t.Errorf("key %d has %d, %v", key, v, ok)
		}
		if tree.Put(key, int(key)) {
			t.Errorf("key %d is put a second time", key)
		}
	}
	if tree.Put(9, 9); right.page.Load().n != 2 || !tree.Delete(10) || right.page.Load().n != 1 {
		t.Errorf("keys are in the wrong leaves")
	}
	if tree.Stats().Latches != 2 {
		t.Errorf("%d latches to go right, want 2", tree.Stats().Latches)
	}
}
