package graph_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"atenia/flow/graph"
)

// cdToDAT is the chain that turns 44.1 kHz into 48 kHz in four steps.
var cdToDAT = []graph.Channel{{0, 1, 1, 1, 0}, {1, 2, 2, 3, 0}, {2, 3, 2, 7, 0}, {3, 4, 8, 7, 0}, {4, 5, 5, 1, 0}}

func TestBalance(t *testing.T) {
	t.Parallel()
	t.Run("A61", func(t *testing.T) {
		q, err := graph.Balance(6, cdToDAT)
		if err != nil || !slices.Equal(q, []int{147, 147, 98, 28, 32, 160}) {
			t.Errorf("%v %v", q, err)
		}
		var bounds []int
		for _, c := range cdToDAT {
			bounds = append(bounds, graph.MinCapacity(c.Produce, c.Consume, 0))
		}
		if !slices.Equal(bounds, []int{1, 4, 8, 14, 5}) {
			t.Errorf("bounds %v", bounds)
		}
		diamond := []graph.Channel{{0, 1, 2, 3, 0}, {0, 2, 2, 3, 0}, {1, 3, 1, 1, 0}, {2, 3, 1, 1, 0}}
		if q, err := graph.Balance(4, diamond); err != nil || !slices.Equal(q, []int{3, 2, 2, 2}) {
			t.Errorf("%v %v", q, err)
		}
		diamond[0].Consume = 5
		_, err = graph.Balance(4, diamond)
		if e, ok := errors.AsType[*graph.Error](err); !ok || e.Code != graph.Malformed || e.Text[:18] != "inconsistent rates" {
			t.Errorf("%v", err)
		}
		// With these bounds as capacities the whole iteration runs.
		capacity, err := graph.Capacities(6, cdToDAT)
		if err != nil || !slices.Equal(capacity, bounds) {
			t.Errorf("capacities %v, %v", capacity, err)
		}
	})
	long := make([]graph.Channel, 40)
	for i := range long {
		long[i] = graph.Channel{i, i + 1, 1 << 16, 1, 0}
	}
	if _, err := graph.Balance(41, long); err == nil {
		t.Error("more firings than can be counted are not told")
	}
}

// TestDeadlockCycle checks the reported cycle, also beside a component that runs.
func TestDeadlockCycle(t *testing.T) {
	t.Parallel()
	// 0 ⇄ 1 lacks a token; 2 → 3 runs.
	r, err := graph.Iterate(4, []graph.Channel{{0, 1, 1, 1, 0}, {1, 0, 1, 1, 0}, {2, 3, 1, 1, 0}}, nil)
	if err != nil || !slices.Equal(r.Blocked, []int{0, 1}) || !slices.Equal(r.Cycle, []int{0, 1}) || r.Fired[3] != 1 {
		t.Errorf("%+v %v", r, err)
	}
	if _, err := graph.Capacities(2, []graph.Channel{{0, 1, 1, 1, 0}, {1, 0, 1, 1, 0}}); !errors.Is(err, &graph.Error{Code: graph.Deadlock}) {
		t.Errorf("%v", err)
	}
	// An artificial deadlock: 0 writes twice to 2 before 1 passes anything on.
	fork := []graph.Channel{{0, 1, 1, 2, 0}, {1, 2, 2, 1, 0}, {0, 2, 1, 1, 0}}
	r, err = graph.Iterate(3, fork, []int{2, 2, 1})
	if err != nil || !r.Deadlock() || len(r.Cycle) < 2 {
		t.Errorf("%+v %v", r, err)
	}
	capacity, err := graph.Capacities(3, fork)
	if err != nil || !slices.Equal(capacity, []int{2, 2, 2}) {
		t.Errorf("%v %v", capacity, err)
	}
}

// TestCapacities: with the capacities found every random graph that runs at
// all runs, and the firings do not depend on capacities that suffice.
func TestCapacities(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	ran := 0
	for range 400 {
		n := 2 + r.IntN(7)
		q := make([]int, n)
		for v := range q {
			q[v] = 1 + r.IntN(7)
		}
		var channels []graph.Channel
		for d := 1; d < n; d++ {
			s := r.IntN(d)
			k := 1 + r.IntN(2)
			channels = append(channels, graph.Channel{s, d, q[d] * k, q[s] * k, r.IntN(3)})
		}
		for range r.IntN(4) {
			s, d := r.IntN(n), r.IntN(n)
			channels = append(channels, graph.Channel{s, d, q[d], q[s], r.IntN(3) * q[s] * q[d]})
		}
		free, err := graph.Iterate(n, channels, nil)
		if err != nil {
			t.Fatal(err)
		}
		capacity, err := graph.Capacities(n, channels)
		if free.Deadlock() != (err != nil) {
			t.Fatalf("%v: deadlock %v, but %v", channels, free.Deadlock(), err)
		}
		if err != nil {
			continue
		}
		ran++
		bound, err := graph.Iterate(n, channels, capacity)
		if err != nil || bound.Deadlock() || !slices.Equal(bound.Fired, free.Fired) {
			t.Fatalf("%v with %v: %+v %v", channels, capacity, bound, err)
		}
	}
	if ran < 100 {
		t.Errorf("only %d graphs ran", ran)
	}
}
