package graph

import (
	"cmp"
	"slices"
)

// An arc leads from one node to another.
type arc struct{ From, To int }

// A digraph holds arcs by their origin, in compressed sparse rows. Its methods
// take time linear in nodes and arcs, up to a logarithm.
//
//	0 ─▶ 1 ─▶ 2 ─▶ 3     Components  -1 0 0 -1
//	     ▲    │          Cycle       1 2
//	     └────┘          Depths      of a graph without cycles
type digraph struct {
	start []int // of node v: to[start[v]:start[v+1]]
	to    []int
}

// newDigraph returns the graph of n nodes with these arcs.
func newDigraph(n int, arcs []arc) *digraph {
	g := &digraph{make([]int, n+1), make([]int, len(arcs))}
	for _, a := range arcs {
		g.start[a.From+1]++
	}
	for v := range n {
		g.start[v+1] += g.start[v]
	}
	at := slices.Clone(g.start)
	for _, a := range arcs {
		g.to[at[a.From]] = a.To
		at[a.From]++
	}
	return g
}

func (g *digraph) nodes() int { return len(g.start) - 1 }

// Next returns the targets of v's arcs, in the order in which they were given.
func (g *digraph) Next(v int) []int { return g.to[g.start[v]:g.start[v+1]] }

// Components returns the strongly connected component of every node that is in
// a cycle, -1 for the others, and the number of components (Tarjan, Depth-first
// search and linear graph algorithms, 1972). They are numbered by their first
// nodes.
func (g *digraph) Components() (comp []int, count int) {
	n := g.nodes()
	comp = make([]int, n)
	low, num, arcAt := make([]int, n), make([]int, n), make([]int, n)
	var stack, path []int
	visited, group := 0, 0
	for root := range n {
		if num[root] != 0 {
			continue
		}
		path = append(path[:0], root)
		for len(path) > 0 {
			v := path[len(path)-1]
			if num[v] == 0 {
				visited++
				num[v], low[v] = visited, visited
				stack = append(stack, v)
			}
			next := g.Next(v)
			for ; arcAt[v] < len(next); arcAt[v]++ {
				w := next[arcAt[v]]
				if num[w] == 0 {
					path = append(path, w)
					break
				}
				if comp[w] == 0 { // still on the stack
					low[v] = min(low[v], low[w])
				}
			}
			if arcAt[v] < len(next) {
				continue
			}
			if path = path[:len(path)-1]; low[v] < num[v] {
				continue
			}
			group++
			for w := -1; w != v; {
				w = stack[len(stack)-1]
				stack = stack[:len(stack)-1]
				comp[w] = group
			}
		}
	}
	return g.renumber(comp, group)
}

// renumber drops components without a cycle, which are 1 … group, and numbers
// the others from 0.
func (g *digraph) renumber(comp []int, group int) ([]int, int) {
	size, as := make([]int, group+1), make([]int, group+1)
	for v, c := range comp {
		if size[c]++; slices.Contains(g.Next(v), v) {
			size[c]++
		}
	}
	count := 0
	for v, c := range comp {
		if size[c] > 1 && as[c] == 0 {
			count++
			as[c] = count
		}
		comp[v] = as[c] - 1
	}
	return comp, count
}

// Cycle returns a simple cycle in the direction of its arcs, starting at the
// first node that is in any, or nil.
func (g *digraph) Cycle() []int {
	comp, count := g.Components()
	if count == 0 {
		return nil
	}
	first := slices.Index(comp, 0)
	sorted := map[int][]int{}
	next := func(v int) []int {
		s, ok := sorted[v]
		if !ok {
			s = slices.Clone(g.Next(v))
			slices.Sort(s)
			sorted[v] = s
		}
		return s
	}
	seen, at, path := map[int]bool{first: true}, map[int]int{}, []int{first}
	for len(path) > 0 {
		v := path[len(path)-1]
		if at[v] == 0 && slices.Contains(g.Next(v), first) {
			return path
		}
		if at[v] == len(next(v)) {
			path = path[:len(path)-1]
			continue
		}
		w := next(v)[at[v]]
		at[v]++
		if comp[w] == 0 && !seen[w] {
			seen[w] = true
			path = append(path, w)
		}
	}
	return nil
}

// Depths returns the length of the longest path to every node. The graph must
// be acyclic.
func (g *digraph) Depths() []int {
	depth, waits := make([]int, g.nodes()), g.waits()
	var ready []int
	for v := range waits {
		if waits[v] == 0 {
			ready = append(ready, v)
		}
	}
	for len(ready) > 0 {
		v := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		for _, w := range g.Next(v) {
			depth[w] = max(depth[w], depth[v]+1)
			if waits[w]--; waits[w] == 0 {
				ready = append(ready, w)
			}
		}
	}
	return depth
}

// waits returns the number of arcs into every node.
func (g *digraph) waits() []int {
	waits := make([]int, g.nodes())
	for _, w := range g.to {
		waits[w]++
	}
	return waits
}

// Sorted returns the nodes in topological order; of those that could be next,
// always the least. The graph must be acyclic.
func (g *digraph) Sorted(compare func(a, b int) int) []int {
	waits := g.waits()
	ready := &nodeQueue[int]{Before: func(a, b int) bool { return compare(a, b) < 0 }}
	for v := range waits {
		if waits[v] == 0 {
			ready.Push(v)
		}
	}
	var out []int
	for ready.Len() > 0 {
		v := ready.Pop()
		out = append(out, v)
		for _, w := range g.Next(v) {
			if waits[w]--; waits[w] == 0 {
				ready.Push(w)
			}
		}
	}
	return out
}

// byDepth returns the nodes by depth, then by index.
func byDepth(depth []int) []int {
	order := make([]int, len(depth))
	for v := range order {
		order[v] = v
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(depth[a], depth[b]) })
	return order
}

// A nodeQueue is a priority queue that returns the least item first: a binary heap
// without interfaces, since shortest-path searches push and pop millions of
// times.
type nodeQueue[T any] struct {
	Items  []T // in heap order
	Before func(a, b T) bool
}

// Len returns the number of items.
func (q *nodeQueue[T]) Len() int { return len(q.Items) }

// Push adds an item.
func (q *nodeQueue[T]) Push(x T) {
	q.Items = append(q.Items, x)
	for i := len(q.Items) - 1; i > 0; {
		up := (i - 1) / 2
		if !q.Before(q.Items[i], q.Items[up]) {
			break
		}
		q.Items[i], q.Items[up] = q.Items[up], q.Items[i]
		i = up
	}
}

// Pop removes the least item, of which there must be one.
func (q *nodeQueue[T]) Pop() T {
	x, last := q.Items[0], len(q.Items)-1
	q.Items[0] = q.Items[last]
	q.Items = q.Items[:last]
	for i := 0; ; {
		least := i
		for c := 2*i + 1; c < min(2*i+3, last); c++ {
			if q.Before(q.Items[c], q.Items[least]) {
				least = c
			}
		}
		if least == i {
			return x
		}
		q.Items[i], q.Items[least] = q.Items[least], q.Items[i]
		i = least
	}
}
