package weights

import (
	"cmp"
	"fmt"
	"slices"

	"atenia/quila/config"
)

// An Edge is one sender and one receiver.
type Edge struct{ Source, Target int32 }

// A Graph is the edges between N neurons, in rows by source.
type Graph struct {
	N     int
	Row   []int   // [N+1]: the edges of source i are Row[i] to Row[i+1]
	Dst   []int32 // [E], strictly ascending within a row
	Src   []int32 // [E]
	Pos   []uint16
	inRow []int   // [N+1]
	in    []int32 // [E]: edges by target, ascending source
}

// New makes a graph from edges in any order and their places. It refuses edges
// to a neuron itself, repeated ones and ends out of range.
func New(n int, edges []Edge, pos []uint16) (*Graph, error) {
	order := make([]int, len(edges))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(edges[a].Source, edges[b].Source), cmp.Compare(edges[a].Target, edges[b].Target))
	})
	g := &Graph{N: n, Row: make([]int, n+1), inRow: make([]int, n+1)}
	for k, i := range order {
		e := edges[i]
		switch {
		case e.Source < 0 || e.Target < 0 || int(e.Source) >= n || int(e.Target) >= n:
			return nil, fmt.Errorf("topology: edge %d → %d is outside %d neurons", e.Source, e.Target, n)
		case e.Source == e.Target:
			return nil, fmt.Errorf("topology: neuron %d sends to itself", e.Source)
		case k > 0 && edges[order[k-1]] == e:
			return nil, fmt.Errorf("topology: edge %d → %d is there twice", e.Source, e.Target)
		}
		g.Src, g.Dst, g.Pos = append(g.Src, e.Source), append(g.Dst, e.Target), append(g.Pos, pos[i])
		g.Row[e.Source+1]++
		g.inRow[e.Target+1]++
	}
	for i := range n {
		g.Row[i+1] += g.Row[i]
		g.inRow[i+1] += g.inRow[i]
	}
	g.in = make([]int32, len(edges))
	at := slices.Clone(g.inRow)
	for e, d := range g.Dst {
		g.in[at[d]] = int32(e)
		at[d]++
	}
	return g, nil
}

// Edges is how many edges there are.
func (g *Graph) Edges() int { return len(g.Dst) }

// Incoming returns the edges of a target in ascending source.
func (g *Graph) Incoming(target int) []int32 { return g.in[g.inRow[target]:g.inRow[target+1]] }

// Outgoing returns the first edge of a source and the one after its last.
func (g *Graph) Outgoing(source int) (lo, hi int) { return g.Row[source], g.Row[source+1] }

// Offsets are the distances that neurons of a new graph send over: 1, 2, 4, …
// below n, then the smallest integers not used yet, ascending.
func Offsets(n, deg int) []int {
	var out []int
	for o := 1; o < n && len(out) < deg; o *= 2 {
		out = append(out, o)
	}
	for o := 3; len(out) < min(deg, n-1); o++ {
		if !slices.Contains(out, o) {
			out = append(out, o)
		}
	}
	slices.Sort(out)
	return out
}

// Place is where a neuron puts the message of its q-th incoming edge: row and
// column in the high and the low byte. The first places are the boundary's, one
// a modality.
func Place(c *config.Config, q int) uint16 {
	return uint16(c.S*(q/c.A%c.A)<<8 | c.S*(q%c.A))
}

// Initial is the graph of a new network.
func Initial(c *config.Config) *Graph {
	offsets := Offsets(c.N, c.Deg)
	edges := make([]Edge, 0, c.N*len(offsets))
	for i := range c.N {
		for _, o := range offsets {
			edges = append(edges, Edge{int32(i), int32((i + o) % c.N)})
		}
	}
	slices.SortFunc(edges, func(a, b Edge) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Target, b.Target))
	})
	next, pos := make([]int, c.N), make([]uint16, len(edges))
	for k, e := range edges {
		pos[k] = Place(c, c.Modalities+next[e.Target])
		next[e.Target]++
	}
	g, err := New(c.N, edges, pos)
	if err != nil {
		panic(err) // offsets are distinct and in range
	}
	return g
}
