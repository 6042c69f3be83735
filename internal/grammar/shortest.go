package grammar

import "slices"

// never is the length of a way that does not exist.
const never = 1 << 29

// A shortcut leads over several edges in one token.
type shortcut struct{ from, to int32 }

// shortest returns for each node the least number of steps to the end of its
// rule, or never. A step is an edge that can be taken, or a shortcut. It is
// Knuth's generalization of Dijkstra's algorithm to grammars ("A Generalization
// of Dijkstra's Algorithm", 1977).
func (n *net) shortest(b *Budget, can func(edge) bool, more []shortcut) ([]int32, error) {
	type way struct{ from, cost int32 }
	const both = -1 // the cost is that of a call or of what is counted
	first := make([]int32, len(n.nodes)+1)
	each := func(f func(to int32, w way)) {
		for i := range n.nodes {
			x := &n.nodes[i]
			for _, e := range x.edges {
				if can(e) {
					f(e.to, way{int32(i), 1})
				}
			}
			for k, to := range x.to {
				switch {
				case x.kind == calls || x.kind == counts && x.least > 0:
					f(to, way{int32(i), both})
				case x.kind == splits || k == 1: // what is counted need not be there
					f(to, way{int32(i), 0})
				}
			}
		}
		for _, s := range more {
			f(s.to, way{s.from, 1})
		}
	}
	each(func(to int32, _ way) { first[to+1]++ })
	for i := range n.nodes {
		first[i+1] += first[i]
	}
	ways := make([]way, first[len(n.nodes)]) // into each node, from first on
	end := slices.Clone(first)
	each(func(to int32, w way) {
		ways[end[to]] = w
		end[to]++
	})
	cost := make([]int32, len(n.nodes))
	done := make([]bool, len(n.nodes))
	q := &queue{}
	for i := range n.nodes {
		cost[i] = never
		if n.nodes[i].kind == ends {
			cost[i] = 0
			q.push(queued{0, int32(i)})
		}
	}
	for len(*q) > 0 {
		if err := b.step(); err != nil {
			return nil, err
		}
		at := q.pop().node
		if done[at] {
			continue
		}
		done[at] = true
		for _, w := range ways[first[at]:first[at+1]] {
			c := cost[at] + w.cost
			if w.cost == both {
				x := &n.nodes[w.from]
				if !done[x.to[0]] || !done[x.to[1]] {
					continue
				}
				times := int32(1)
				if x.kind == counts {
					times = x.least
				}
				c = again(times, cost[x.to[0]], cost[x.to[1]])
			}
			if c < cost[w.from] {
				cost[w.from] = c
				q.push(queued{c, w.from})
			}
		}
	}
	return cost, nil
}

type queued struct{ cost, node int32 }

// A queue is a binary heap; container/heap would allocate each element.
type queue []queued

func (q *queue) push(x queued) {
	h := append(*q, x)
	i := len(h) - 1
	for i > 0 && h[(i-1)/2].cost > x.cost {
		h[i] = h[(i-1)/2]
		i = (i - 1) / 2
	}
	h[i] = x
	*q = h
}

func (q *queue) pop() queued {
	h := *q
	top, x := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	i := 0
	for 2*i+1 < len(h) {
		k := 2*i + 1
		if k+1 < len(h) && h[k+1].cost < h[k].cost {
			k++
		}
		if x.cost <= h[k].cost {
			break
		}
		h[i] = h[k]
		i = k
	}
	if len(h) > 0 {
		h[i] = x
	}
	*q = h
	return top
}

// again is the cost of something n times, and then of what follows.
func again(n, one, rest int32) int32 {
	return int32(min(int64(n)*int64(one)+int64(rest), never))
}
