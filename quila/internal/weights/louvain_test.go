package weights

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// planted is a graph of groups with edges mostly within, and the groups.
func planted(n, groups, edges int, within float64) (*Graph, []int32) {
	r := rand.New(rand.NewPCG(5, uint64(n)))
	size := n / groups
	seen := make(map[Edge]bool, edges)
	list := make([]Edge, 0, edges)
	for len(list) < edges {
		i := r.IntN(n)
		j := r.IntN(n)
		if r.Float64() < within {
			j = i%groups + groups*r.IntN(size)
		}
		e := Edge{int32(i), int32(j)}
		if i == j || seen[e] {
			continue
		}
		seen[e] = true
		list = append(list, e)
	}
	g, err := New(n, list, make([]uint16, len(list)))
	if err != nil {
		panic(err)
	}
	truth := make([]int32, n)
	for i := range truth {
		truth[i] = int32(i % groups)
	}
	return g, truth
}

func TestLouvainOrder(t *testing.T) {
	g, truth := planted(120, 4, 1200, .9)
	c := g.Links().Louvain()
	if c.Count != 4 || !slices.Equal(c.Of, truth) {
		t.Fatalf("%d communities %v", c.Count, c.Of)
	}
	order := c.Order()
	for i, id := range order {
		if want := int32(i/30 + i%30*4); id != want {
			t.Fatalf("place %d has neuron %d, want %d", i, id, want)
		}
	}
	for i, p := range c.Positions() {
		if p[0] != uint32(i%4) || p[1] != uint32(i/4) {
			t.Fatalf("position of %d is %v", i, p)
		}
	}
	if q := g.Links().Modularity(truth); q != c.Modularity || q < .6 {
		t.Errorf("modularity %v, of the truth %v", c.Modularity, q)
	}
}

func TestLouvainOfNothing(t *testing.T) {
	for _, n := range []int{0, 1, 3} {
		c := NewLinks(n, nil).Louvain()
		if c.Count != n || c.Modularity != 0 || len(c.Order()) != n {
			t.Errorf("%d nodes: %+v", n, c)
		}
	}
	c := NewLinks(2, []Edge{{0, 0}, {0, 1}, {1, 0}}).Louvain()
	if c.Count != 1 {
		t.Errorf("two nodes: %+v", c)
	}
}

func BenchmarkLouvain(b *testing.B) {
	g, truth := planted(32768, 80, 3_270_000, .8)
	b.ReportAllocs()
	for b.Loop() {
		c := g.Links().Louvain()
		if c.Modularity < g.Links().Modularity(truth)-.001 {
			b.Fatal(c.Modularity, c.Count)
		}
	}
}
