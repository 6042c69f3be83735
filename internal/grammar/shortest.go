package grammar

import "container/heap"

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
	ways := make([][]way, len(n.nodes)) // into each node; cost −1: of a call
	for i := range n.nodes {
		x := &n.nodes[i]
		for _, e := range x.edges {
			if can(e) {
				ways[e.to] = append(ways[e.to], way{int32(i), 1})
			}
		}
		for _, to := range x.to {
			cost := int32(0)
			if x.kind == calls || x.kind == counts && x.least > 0 {
				cost = -1
			}
			if x.kind == counts && x.least == 0 && to == x.to[0] {
				continue
			}
			ways[to] = append(ways[to], way{int32(i), cost})
		}
	}
	for _, s := range more {
		ways[s.to] = append(ways[s.to], way{s.from, 1})
	}
	cost := make([]int32, len(n.nodes))
	done := make([]bool, len(n.nodes))
	q := &queue{}
	for i := range n.nodes {
		cost[i] = never
		if n.nodes[i].kind == ends {
			cost[i] = 0
			heap.Push(q, queued{0, int32(i)})
		}
	}
	for q.Len() > 0 {
		if err := b.step(); err != nil {
			return nil, err
		}
		at := heap.Pop(q).(queued).node
		if done[at] {
			continue
		}
		done[at] = true
		for _, w := range ways[at] {
			c := cost[at] + w.cost
			if w.cost < 0 {
				to := n.nodes[w.from].to
				if !done[to[0]] || !done[to[1]] {
					continue
				}
				c = cost[to[0]] + cost[to[1]]
				if x := &n.nodes[w.from]; x.kind == counts {
					c = again(x.least, cost[to[0]], cost[to[1]])
				}
			}
			if c < cost[w.from] {
				cost[w.from] = c
				heap.Push(q, queued{c, w.from})
			}
		}
	}
	return cost, nil
}

type queued struct{ cost, node int32 }

type queue []queued

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].cost < q[j].cost }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)        { *q = append(*q, x.(queued)) }
func (q *queue) Pop() any {
	old := *q
	x := old[len(old)-1]
	*q = old[:len(old)-1]
	return x
}

// again is the cost of something n times, and then of what follows.
func again(n, one, rest int32) int32 {
	return int32(min(int64(n)*int64(one)+int64(rest), never))
}
