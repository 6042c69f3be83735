package weights

import (
	"slices"
)

// Communities are groups of nodes with more edges within than between.
type Communities struct {
	Of         []int32 // [N]: numbered by their smallest node
	Count      int
	Modularity float64
}

// Louvain finds communities by moving nodes where modularity grows most, and then
// doing the same to communities as nodes, until nothing moves (V. Blondel et al.,
// Fast unfolding of communities in large networks, 2008). Nodes are visited in
// ascending order and ties go to the smaller community, so a graph has one result;
// gains are compared as integers. One thread does it: 3.3 million edges take less
// than a second.
//
// A small graph, in which one early move can join two communities for good, is
// also visited in other orders, and the best result counts.
func (l *Links) Louvain() *Communities {
	best := l.unfold(nil)
	if len(l.to) > smallLinks {
		return best
	}
	for k := range otherOrders {
		if c := l.unfold(shuffled(l.Nodes(), uint32(k))); c.Modularity > best.Modularity {
			best = c
		}
	}
	return best
}

const (
	smallLinks  = 1 << 16
	otherOrders = 32
)

// shuffled is the k-th order of n nodes (R. Fisher and F. Yates).
func shuffled(n int, k uint32) []int32 {
	order := make([]int32, n)
	words := Stream{Neuron: k, Site: Growth}.Words(n)
	for i := range order {
		j := Choice(words[i], i+1)
		order[i] = order[j]
		order[j] = int32(i)
	}
	return order
}

// unfold visits the nodes in an order, nil for the ascending one.
func (l *Links) unfold(order []int32) *Communities {
	of := make([]int32, l.Nodes())
	for i := range of {
		of[i] = int32(i)
	}
	level := l
	for {
		com, moved := level.move(order)
		order = nil
		n := renumber(com)
		for i, c := range of {
			of[i] = com[c]
		}
		if !moved {
			break
		}
		level = level.merge(com, n)
	}
	n := firstSeen(of)
	return &Communities{Of: of, Count: n, Modularity: l.Modularity(of)}
}

// move puts every node into the community of a neighbour where modularity grows
// most, until a pass moves none. It reports whether any moved.
func (l *Links) move(order []int32) (com []int32, any bool) {
	n := l.Nodes()
	com = make([]int32, n)
	total := slices.Clone(l.degree) // of a community
	for i := range com {
		com[i] = int32(i)
	}
	sum := make([]int64, n) // edges from the node to a community
	near := make([]int32, 0, 256)
	for moved := true; moved; {
		moved = false
		for at := range n {
			i := at
			if order != nil {
				i = int(order[at])
			}
			near = near[:0]
			row := l.to[l.row[i]:l.row[i+1]]
			if l.count == nil {
				for _, j := range row {
					c := com[j]
					if sum[c] == 0 {
						near = append(near, c)
					}
					sum[c]++
				}
			} else {
				for k, j := range row {
					c := com[j]
					if sum[c] == 0 {
						near = append(near, c)
					}
					sum[c] += l.count[l.row[i]+k]
				}
			}
			own, k := com[i], l.degree[i]
			total[own] -= k
			// Gains are edges ÷ m − degree·total ÷ 2m², here times 2m².
			stay := sum[own]*l.total - k*total[own]
			best, most := own, stay
			for _, c := range near {
				if gain := sum[c]*l.total - k*total[c]; gain > most || gain == most && gain > stay && c < best {
					best, most = c, gain
				}
				sum[c] = 0
			}
			total[best] += k
			if best != own {
				com[i], moved, any = best, true, true
			}
		}
	}
	return com, any
}

// renumber numbers communities from 0, in ascending order of the old numbers, and
// returns how many there are.
func renumber(com []int32) int {
	id := make([]int32, len(com))
	for _, c := range com {
		id[c] = 1
	}
	n := int32(0)
	for c, used := range id {
		if used == 1 {
			id[c] = n
			n++
		}
	}
	for i, c := range com {
		com[i] = id[c]
	}
	return int(n)
}

// firstSeen numbers communities by their smallest node.
func firstSeen(of []int32) int {
	id, n := make([]int32, len(of)), int32(0)
	for i, c := range of {
		if id[c] == 0 {
			n++
			id[c] = n
		}
		of[i] = id[c] - 1
	}
	return int(n)
}

// Order is the order in which ports scan neurons: by community, then id
//
func (c *Communities) Order() []int32 {
	at := make([]int, c.Count+1)
	for _, k := range c.Of {
		at[k+1]++
	}
	for k := range c.Count {
		at[k+1] += at[k]
	}
	order := make([]int32, len(c.Of))
	for i, k := range c.Of {
		order[at[k]] = int32(i)
		at[k]++
	}
	return order
}

// Positions are the pairs (community, rank in it) of every neuron, S4.graph_position
// [R-5.1f].
func (c *Communities) Positions() [][2]uint32 {
	out, next := make([][2]uint32, len(c.Of)), make([]uint32, c.Count)
	for i, k := range c.Of {
		out[i] = [2]uint32{uint32(k), next[k]}
		next[k]++
	}
	return out
}

// A Tracker has the communities of a graph that changes, and finds them again once
// more than a share of the edges has changed.
type Tracker struct {
	*Communities
	Runs    int // how often they were found
	limit   float64
	changed int
}

// NewTracker finds the communities of a graph. limit is the share of edges, the
// option louvain_rerun.
func NewTracker(g *Graph, limit float64) *Tracker {
	return &Tracker{Communities: g.Links().Louvain(), Runs: 1, limit: limit}
}

// Changed notes that so many edges were made or removed; g is the graph now. It
// reports whether the communities were found again.
func (t *Tracker) Changed(g *Graph, edges int) bool {
	t.changed += edges
	if float64(t.changed) <= t.limit*float64(g.Edges()) {
		return false
	}
	t.Communities, t.changed = g.Links().Louvain(), 0
	t.Runs++
	return true
}
