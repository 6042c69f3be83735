package graph

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestAgainstReach compares components, cycles and depths of random graphs with
// their reachability matrices.
func TestAgainstReach(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 1))
	acyclic := 0
	for range 2000 {
		n := 1 + r.IntN(8)
		var arcs []arc
		reach := make([][]bool, n)
		for v := range reach {
			reach[v] = make([]bool, n)
		}
		for range r.IntN(2 * n) {
			a := arc{r.IntN(n), r.IntN(n)}
			arcs = append(arcs, a)
			reach[a.From][a.To] = true
		}
		for k := range n {
			for a := range n {
				for b := range n {
					reach[a][b] = reach[a][b] || reach[a][k] && reach[k][b]
				}
			}
		}
		g := newDigraph(n, arcs)
		comp, count := g.Components()
		next := 0
		for v := range n {
			if (comp[v] >= 0) != reach[v][v] {
				t.Fatalf("%v: components %v", arcs, comp)
			}
			if comp[v] >= 0 && !slices.Contains(comp[:v], comp[v]) {
				if comp[v] != next {
					t.Fatalf("%v: components %v are not numbered by their first nodes", arcs, comp)
				}
				next++
			}
			for w := range v {
				if comp[v] >= 0 && (comp[v] == comp[w]) != (reach[v][w] && reach[w][v]) {
					t.Fatalf("%v: components %v", arcs, comp)
				}
			}
		}
		cycle := g.Cycle()
		if count != next || (cycle != nil) != (count > 0) {
			t.Fatalf("%v: %d components, cycle %v", arcs, count, cycle)
		}
		if cycle == nil {
			acyclic++
			checkOrder(t, g, arcs)
			continue
		}
		if cycle[0] != slices.Index(comp, 0) || len(slices.Compact(slices.Sorted(slices.Values(cycle)))) != len(cycle) {
			t.Fatalf("%v: cycle %v", arcs, cycle)
		}
		for k, v := range cycle {
			if !slices.Contains(arcs, arc{v, cycle[(k+1)%len(cycle)]}) {
				t.Fatalf("%v: cycle %v", arcs, cycle)
			}
		}
	}
	if acyclic < 100 {
		t.Errorf("only %d graphs without a cycle", acyclic)
	}
}

func checkOrder(t *testing.T, g *digraph, arcs []arc) {
	t.Helper()
	depth := g.Depths()
	want := make([]int, len(depth))
	for range depth {
		for _, a := range arcs {
			want[a.To] = max(want[a.To], want[a.From]+1)
		}
	}
	backwards := g.Sorted(func(a, b int) int { return cmp.Compare(b, a) })
	for _, order := range [][]int{byDepth(depth), backwards} {
		if len(order) != len(depth) {
			t.Fatalf("%v: order %v", arcs, order)
		}
		for _, a := range arcs {
			if slices.Index(order, a.From) >= slices.Index(order, a.To) {
				t.Fatalf("%v: order %v", arcs, order)
			}
		}
	}
	if !slices.Equal(depth, want) {
		t.Fatalf("%v: depths %v, want %v", arcs, depth, want)
	}
}
