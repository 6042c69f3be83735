package grid_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"atenia/quila/config"
	"atenia/quila/internal/grid"
)

// TestChoose compares who fires with a plain sort: who has waited wait_max ticks
// goes first, longest first and whatever its utility, then whoever has the largest
// (.001+utility)·(1+waited).
func TestChoose(t *testing.T) {
	c, err := config.Profile("nano")
	if err != nil {
		t.Fatal(err)
	}
	c.N, c.ActiveCap, c.WaitMax = 24, .25, 5
	r := rand.New(rand.NewPCG(7, 8))
	for round := range 2000 {
		s := grid.NewSchedule(&c)
		refractory, utility := make([]int32, c.N), make([]float32, c.N)
		var eligible []int32
		for i := range c.N {
			s.Waited[i] = int32(r.IntN(c.WaitMax + 4*(round%2)))
			utility[i] = r.Float32()
			refractory[i] = max(0, int32(r.IntN(4))-2)
			if r.IntN(5) > 0 {
				s.Arrive(i, 1)
				if refractory[i] == 0 {
					eligible = append(eligible, int32(i))
				}
			}
		}
		waited := slices.Clone(s.Waited)
		slices.SortStableFunc(eligible, func(a, b int32) int {
			late := func(i int32) int32 {
				if waited[i] >= int32(c.WaitMax) {
					return waited[i]
				}
				return 0
			}
			score := func(i int32) float32 { return (1e-3 + utility[i]) * float32(1+waited[i]) }
			if late(a) != late(b) || late(a) > 0 {
				return cmp.Compare(late(b), late(a))
			}
			return cmp.Compare(score(b), score(a))
		})
		want := eligible[:min(len(eligible), s.Most())]
		slices.Sort(want)
		if got := s.Choose(refractory, utility); !slices.Equal(got, want) {
			t.Fatalf("round %d: %v fire, want %v (waited %v)", round, got, want, waited)
		}
	}
}
