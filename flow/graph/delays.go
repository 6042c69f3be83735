package graph

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
)

func (l *linker) cycles() error {
	arcs := make([]arc, len(l.Edges))
	for i := range l.Edges {
		arcs[i] = arc{From: l.Edges[i].Src, To: l.Edges[i].Dst}
	}
	comp, count := newDigraph(len(l.Nodes), arcs).Components()
	l.Sub = make([]Rat, count)
	for i := range l.Nodes {
		n := &l.Nodes[i]
		if n.Comp = comp[i]; n.PDC != "" && n.Comp >= 0 {
			return l.fault(Malformed, n.Path+".pdc", []int{i}, "delay compensation of a node within a cycle")
		}
	}
	return nil
}

// delays gives every edge the larger of its own delay and the delay its source
// declares. A source with delay compensation has already spent the declared
// one.
func (l *linker) delays() error {
	for i := range l.Edges {
		e := &l.Edges[i]
		s := &l.Nodes[e.Src]
		declared := s.DeclaredDelay
		if s.PDC != "" {
			declared = 0
		}
		if 0 < e.DelayFrames && e.DelayFrames < declared {
			if l.strict {
				return l.fault(Malformed, e.Path+".delay_frames", []int{e.Src}, "%d frames are fewer than the %d that node %s declares", e.DelayFrames, declared, s.Name)
			}
			l.Warnings = append(l.Warnings, fmt.Sprintf("%s: delay_frames is raised from %d to the %d that node %s declares", e.Path, e.DelayFrames, declared, s.Name))
		}
		delay := max(declared, e.DelayFrames)
		e.Inside = s.Comp >= 0 && s.Comp == l.Nodes[e.Dst].Comp
		switch {
		case e.DelayKind == "prefill" || e.DelayKind == "" && e.Inside:
			e.Prefill = delay
		case e.Inside && delay > 0:
			return l.fault(Malformed, e.Path+".delay_kind", []int{e.Src, e.Dst}, "within a cycle a delay is a prefill: a hold would wait for itself")
		default:
			e.Hold = delay
		}
	}
	return nil
}

// pad prefills the earlier inputs of joins outside cycles up to the latest one,
// where nodes ask for delay compensation by padding. A node's latency, in base
// frames, is the largest of its inputs' plus what it declares itself.
func (l *linker) pad() error {
	if !slices.ContainsFunc(l.Nodes, func(n LinkedNode) bool { return n.PDC == "pad" }) {
		return nil
	}
	var arcs []arc
	into := make([][]int, len(l.Nodes))
	for i := range l.Edges {
		if e := &l.Edges[i]; !e.Inside {
			arcs = append(arcs, arc{From: e.Src, To: e.Dst})
			into[e.Dst] = append(into[e.Dst], i)
		}
	}
	latency, top := make([]*big.Rat, len(l.Nodes)), make([]*big.Rat, len(l.Nodes))
	for _, v := range byDepth(newDigraph(len(l.Nodes), arcs).Depths()) {
		n := &l.Nodes[v]
		top[v] = new(big.Rat)
		for _, i := range into[v] {
			if x := latency[l.Edges[i].Src]; x.Cmp(top[v]) > 0 {
				top[v] = x
			}
		}
		latency[v] = top[v]
		if n.PDC == "pad" && len(n.Spec.Prod) > 0 {
			own := new(big.Rat).SetFrac64(int64(n.DeclaredDelay), n.Rate.Num)
			own.Mul(own, big.NewRat(n.Rate.Den, int64(n.Spec.Prod[0])))
			latency[v] = own.Add(own, top[v])
		}
	}
	for v := range l.Nodes {
		for _, i := range into[v] {
			e := &l.Edges[i]
			x := new(big.Rat).Sub(top[v], latency[e.Src])
			x.Mul(x, big.NewRat(e.Rate.Num, e.Rate.Den))
			if !x.IsInt() || x.Num().Cmp(big.NewInt(int64(maxInteger-e.Prefill))) > 0 {
				return l.fault(Malformed, e.Path, []int{e.Src, e.Dst}, "padding by %v frames is not a whole number below 2³¹", x.RatString())
			}
			e.Prefill += int(x.Num().Int64())
		}
	}
	return nil
}

// flow checks that the graph can make progress at all.
func (l *linker) flow() error {
	for i := range l.Edges {
		if e := &l.Edges[i]; e.Prefill == 0 {
			l.free = append(l.free, arc{From: e.Src, To: e.Dst})
		}
	}
	if c := newDigraph(len(l.Nodes), l.free).Cycle(); c != nil {
		return l.fault(Deadlock, l.Plan.Root+".edges", c, "a cycle without prefill: every node waits for the one before it; give an edge of it delay_frames")
	}
	return nil
}

// subBlocks gives every component its sub-block: the least prefill around a
// cycle in base frames, at most a block.
//
// The minimum cycle through an edge is the edge and a shortest path back. Edges
// are tried in ascending order of prefill and removed afterwards; the search
// ends at an edge whose prefill is no less than the best cycle so far, or if no
// path back lies within it. That is close to linear time unless many equal
// prefills lie on no short cycle; the worst case is nodes times edges.
func (l *linker) subBlocks() error {
	inside := make([][]int, len(l.Sub))
	for i := range l.Edges {
		if e := &l.Edges[i]; e.Inside {
			c := l.Nodes[e.Src].Comp
			inside[c] = append(inside[c], i)
		}
	}
	w := l.ways()
	for c, edges := range inside {
		sub, ok := w.least(edges)
		if !ok {
			return l.fault(Malformed, l.Plan.Root+".edges", []int{l.Edges[edges[0]].Src}, "the rates of a cycle's edges have no common multiple below %d", maxMultiple)
		}
		l.Sub[c] = sub
	}
	return nil
}

// maxMultiple bounds the unit in which a component's prefills are compared, so
// that a block in it fits 62 bits.
const maxMultiple = 1 << 38

// ways finds shortest paths within components. Weights are multiples of a
// fraction of a base frame; -1 marks a removed edge.
type ways struct {
	l       *linker
	start   []int32 // of node v: hops[start[v]:start[v+1]]
	hops    []hop
	weight  []int64 // by edge
	dist    []int64 // by node, -1 for unreached
	reached []int32
	stack   []int32
	heap    nodeQueue[way]
}

// A hop is an edge within a component.
type hop struct{ edge, to int32 }

type way struct {
	dist int64
	node int32
}

func (l *linker) ways() *ways {
	w := &ways{l: l, start: make([]int32, len(l.Nodes)+1), weight: make([]int64, len(l.Edges)), dist: make([]int64, len(l.Nodes))}
	w.heap.Before = func(a, b way) bool { return a.dist < b.dist }
	for v := range l.Nodes {
		w.dist[v] = -1
		for _, out := range l.Nodes[v].Out {
			for _, i := range out {
				if e := &l.Edges[i]; e.Inside {
					w.hops = append(w.hops, hop{int32(i), int32(e.Dst)})
				}
			}
		}
		w.start[v+1] = int32(len(w.hops))
	}
	return w
}

// least returns the least cycle of the component with these edges, or a block.
func (w *ways) least(edges []int) (Rat, bool) {
	f, unit := int64(w.l.BlockFrames), int64(1)
	var filled []int
	for _, i := range edges {
		e := &w.l.Edges[i]
		w.weight[i] = 0
		if e.Prefill == 0 {
			continue
		}
		w.weight[i] = -1
		if int64(e.Prefill)*e.Rate.Den < f*e.Rate.Num { // less than a block
			filled = append(filled, i)
			var ok bool
			if unit, ok = product(unit, e.Rate.Num/gcd(unit, e.Rate.Num)); !ok || unit > maxMultiple {
				return Rat{}, false
			}
		}
	}
	for _, i := range filled {
		e := &w.l.Edges[i]
		w.weight[i] = int64(e.Prefill) * e.Rate.Den * (unit / e.Rate.Num)
	}
	slices.SortStableFunc(filled, func(a, b int) int { return cmp.Compare(w.weight[a], w.weight[b]) })
	best := f * unit
	for _, i := range filled {
		e := &w.l.Edges[i]
		if w.weight[i] >= best {
			break
		}
		best = w.weight[i] + w.back(int32(e.Dst), int32(e.Src), best-w.weight[i])
		w.weight[i] = -1
	}
	return reduced(best, unit), true
}

// back returns the length of the shortest path between two nodes of a
// component, or limit if there is none below it (Dijkstra, 1959). Edges of
// weight zero, which are the majority, bypass the heap through a stack.
func (w *ways) back(from, to int32, limit int64) int64 {
	if from == to {
		return 0
	}
	w.heap.Items = append(w.heap.Items[:0], way{0, from})
	w.dist[from], w.reached = 0, append(w.reached[:0], from)
	found := limit
search:
	for w.heap.Len() > 0 {
		x := w.heap.Pop()
		if x.dist > w.dist[x.node] {
			continue
		}
		if x.node == to {
			found = x.dist
			break
		}
		for w.stack = append(w.stack[:0], x.node); len(w.stack) > 0; {
			v := w.stack[len(w.stack)-1]
			w.stack = w.stack[:len(w.stack)-1]
			for _, h := range w.hops[w.start[v]:w.start[v+1]] {
				weight := w.weight[h.edge]
				d, old := x.dist+weight, w.dist[h.to]
				if weight < 0 || d >= limit || old >= 0 && old <= d {
					continue
				}
				if old < 0 {
					w.reached = append(w.reached, h.to)
				}
				w.dist[h.to] = d
				switch {
				case weight > 0:
					w.heap.Push(way{d, h.to})
				case h.to == to:
					found = d
					break search
				default:
					w.stack = append(w.stack, h.to)
				}
			}
		}
	}
	for _, v := range w.reached {
		w.dist[v] = -1
	}
	return found
}
