package neuron_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"atenia/quila/internal/neuron"
)

// TestTop compares with a stable sort, ties and masks included.
func TestTop(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		u, allowed := make([]float32, r.IntN(20)), []bool(nil)
		for i := range u {
			u[i] = float32(r.IntN(6))
		}
		if r.IntN(2) > 0 {
			for range u {
				allowed = append(allowed, r.IntN(3) > 0)
			}
		}
		k := r.IntN(22)
		var want []int32
		for i := range u {
			if allowed == nil || allowed[i] {
				want = append(want, int32(i))
			}
		}
		slices.SortStableFunc(want, func(i, j int32) int {
			return int(u[j] - u[i])
		})
		want = want[:min(k, len(want))]
		slices.Sort(want)
		if got := neuron.Top([]int32{-1}, u, k, allowed); got[0] != -1 || !slices.Equal(got[1:], want) {
			t.Fatalf("top %d of %v where %v: %v, want %v", k, u, allowed, got[1:], want)
		}
	}
}
