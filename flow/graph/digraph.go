package graph

import (
	"cmp"
	"container/heap"
	"slices"
)

// An arc leads from one node to another.
type arc struct{ from, to int }

// A digraph holds arcs by their origin.
type digraph struct {
	start []int // of node v: to[start[v]:start[v+1]]
	to    []int
}

func newDigraph(n int, arcs []arc) *digraph {
	g := &digraph{make([]int, n+1), make([]int, len(arcs))}
	for _, a := range arcs {
		g.start[a.from+1]++
	}
	for v := range n {
		g.start[v+1] += g.start[v]
	}
	at := slices.Clone(g.start)
	for _, a := range arcs {
		g.to[at[a.from]] = a.to
		at[a.from]++
	}
	return g
}

func (g *digraph) nodes() int { return len(g.start) - 1 }

func (g *digraph) next(v int) []int { return g.to[g.start[v]:g.start[v+1]] }

// components returns the strongly connected component of every node that is in
// a cycle and -1 for the others, and how many there are (Tarjan, Depth-first
// search and linear graph algorithms, 1972). They are numbered by their first
// nodes.
func (g *digraph) components() (comp []int, count int) {
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
			next := g.next(v)
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
// the others from 0 on.
func (g *digraph) renumber(comp []int, group int) ([]int, int) {
	size, as := make([]int, group+1), make([]int, group+1)
	for v, c := range comp {
		if size[c]++; slices.Contains(g.next(v), v) {
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

// cycle returns a simple cycle in the direction of its arcs, from the first
// node that is in any on, or nil.
func (g *digraph) cycle() []int {
	comp, count := g.components()
	if count == 0 {
		return nil
	}
	first := slices.Index(comp, 0)
	sorted := map[int][]int{}
	next := func(v int) []int {
		s, ok := sorted[v]
		if !ok {
			s = slices.Clone(g.next(v))
			slices.Sort(s)
			sorted[v] = s
		}
		return s
	}
	seen, at, path := map[int]bool{first: true}, map[int]int{}, []int{first}
	for len(path) > 0 {
		v := path[len(path)-1]
		if at[v] == 0 && slices.Contains(g.next(v), first) {
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

// depths returns for every node the arcs of the longest path to it. The graph
// has no cycle.
func (g *digraph) depths() []int {
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
		for _, w := range g.next(v) {
			depth[w] = max(depth[w], depth[v]+1)
			if waits[w]--; waits[w] == 0 {
				ready = append(ready, w)
			}
		}
	}
	return depth
}

// waits counts the arcs into every node.
func (g *digraph) waits() []int {
	waits := make([]int, g.nodes())
	for _, w := range g.to {
		waits[w]++
	}
	return waits
}

// sorted returns the nodes so that arcs lead forwards, of those that could be
// next always the least one. The graph has no cycle.
func (g *digraph) sorted(compare func(a, b int) int) []int {
	waits := g.waits()
	ready := &queue[int]{less: func(a, b int) bool { return compare(a, b) < 0 }}
	for v := range waits {
		if waits[v] == 0 {
			heap.Push(ready, v)
		}
	}
	var out []int
	for ready.Len() > 0 {
		v := heap.Pop(ready).(int)
		out = append(out, v)
		for _, w := range g.next(v) {
			if waits[w]--; waits[w] == 0 {
				heap.Push(ready, w)
			}
		}
	}
	return out
}

// byDepth returns the nodes by depth, then as they are declared.
func byDepth(depth []int) []int {
	order := make([]int, len(depth))
	for v := range order {
		order[v] = v
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(depth[a], depth[b]) })
	return order
}

// A queue gives back the least item first.
type queue[T any] struct {
	items []T
	less  func(a, b T) bool
}

func (q *queue[T]) Len() int           { return len(q.items) }
func (q *queue[T]) Less(i, j int) bool { return q.less(q.items[i], q.items[j]) }
func (q *queue[T]) Swap(i, j int)      { q.items[i], q.items[j] = q.items[j], q.items[i] }
func (q *queue[T]) Push(x any)         { q.items = append(q.items, x.(T)) }
func (q *queue[T]) Pop() any {
	x := q.items[len(q.items)-1]
	q.items = q.items[:len(q.items)-1]
	return x
}
