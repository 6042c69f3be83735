package flow

import (
	"slices"
	"testing"

	"atenia/flow/node"
)

// TestCutAndTake: blocks that are cut from a stream and put together again are
// the stream, however little room there was.
func TestCutAndTake(t *testing.T) {
	t.Parallel()
	x := node.Tensor[float32]{Data: []float32{1, 2, 3, 4, 5, 11, 12, 13, 14, 15}, B: 1, C: 2, N: 5}
	for _, room := range []int{1, 3, 100} {
		take := newBlockTake[float32](1, 2, room)
		for at := 0; at < 6; at += 3 {
			b := node.Tensor[float32]{Data: make([]float32, 6), B: 1, C: 2, N: 3}
			cutBlock(&b, &x, at)
			take.Add(b)
		}
		if y := take.Join(); y.N != 6 || !slices.Equal(y.Data, []float32{1, 2, 3, 4, 5, 0, 11, 12, 13, 14, 15, 0}) {
			t.Errorf("room for %d: %v", room, y)
		}
	}
}
