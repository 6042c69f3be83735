package grid_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"atenia/quila/config"
	"atenia/quila/internal/grid"
)

// TestSchedule compares who fires with a plain sort: late neurons first, the
// longest waiting before others whatever they are worth, then the largest
// (ε+utility)·(1+waited), and smaller ids first of equals.
func TestSchedule(t *testing.T) {
	const neurons, most, waitMax, ticks = 24, 3, 4, 300
	s := grid.NewSchedule(&config.Config{N: neurons, ActiveCap: float64(most) / neurons, WaitMax: waitMax})
	r := rand.New(rand.NewPCG(4, 2))
	refractory, utility, waited := make([]int32, neurons), make([]float32, neurons), make([]int32, neurons)
	crowded, turned := 0, 0
	for tick := range ticks {
		var late, others []int
		for n := range neurons {
			utility[n] = float32(r.IntN(5)) / 4 // with ties
			refractory[n] = int32(r.IntN(5) / 4)
			if r.IntN(3) > 0 {
				s.Arrive(n, uint64(tick+1))
			}
			switch {
			case refractory[n] != 0 || s.Since[n] == 0:
			case waited[n] >= waitMax:
				late = append(late, n)
			default:
				others = append(others, n)
			}
		}
		eligible := slices.Concat(late, others)
		slices.SortStableFunc(late, func(a, b int) int { return cmp.Compare(waited[b], waited[a]) })
		merit := func(n int) float32 { return (1e-3 + utility[n]) * float32(1+waited[n]) }
		slices.SortStableFunc(others, func(a, b int) int { return cmp.Compare(merit(b), merit(a)) })
		want := slices.Concat(late, others)
		if want = want[:min(most, len(want))]; len(late) > most {
			crowded++
			if slices.ContainsFunc(late[most:], func(n int) bool { return utility[n] > utility[want[0]] }) {
				turned++ // utility would choose another
			}
		}
		slices.Sort(want)
		var got []int
		for _, n := range s.Choose(refractory, utility) {
			got = append(got, int(n))
			s.Read(int(n))
		}
		if !slices.Equal(got, want) {
			t.Fatalf("tick %d: %v fire, want %v; late %v have waited %v", tick, got, want, late, waited)
		}
		for _, n := range eligible {
			waited[n]++
		}
		for _, n := range want {
			waited[n] = 0
		}
	}
	if crowded < 50 || turned < 20 {
		t.Errorf("more were late than may fire at %d ticks of %d, and %d of them were worth more", crowded, ticks, turned)
	}
}
