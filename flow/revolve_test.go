package flow

import "testing"

// TestCut: a cut is inside the range of blocks, so that recursion ends; without
// a spare snapshot it leaves the last block.
func TestCut(t *testing.T) {
	t.Parallel()
	for n := int64(2); n < 300; n++ {
		if c := revolveCut(n, 0); c != n-1 {
			t.Errorf("%d blocks, no state: cut at %d", n, c)
		}
		for slots := 1; slots < 9; slots++ {
			if c := revolveCut(n, slots); c < 1 || c >= n {
				t.Errorf("%d blocks, %d states: cut at %d", n, slots, c)
			}
		}
	}
	if revolveCut(1, 3) != 0 {
		t.Error("one block is cut")
	}
}
