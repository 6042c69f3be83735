package weights

import "slices"

// Links is an undirected graph with counts on its edges, in rows: both ends of an
// edge have it. Repeated edges add up.
type Links struct {
	row    []int
	to     []int32
	count  []int64 // nil is one each
	self   []int64 // edges from a node to itself
	degree []int64 // sum of a row, and its self edges twice
	total  int64   // sum of degrees
}

// NewLinks makes an undirected graph of edges between n nodes. Ends out of range
// are a fault of the program and panic.
func NewLinks(n int, edges []Edge) *Links {
	l := &Links{row: make([]int, n+1), self: make([]int64, n)}
	for _, e := range edges {
		if e.Source != e.Target {
			l.row[e.Source+1]++
			l.row[e.Target+1]++
		}
	}
	for i := range n {
		l.row[i+1] += l.row[i]
	}
	l.to = make([]int32, l.row[n])
	at := slices.Clone(l.row[:n])
	for _, e := range edges {
		if e.Source == e.Target {
			l.self[e.Source]++
			continue
		}
		l.to[at[e.Source]], l.to[at[e.Target]] = e.Target, e.Source
		at[e.Source]++
		at[e.Target]++
	}
	l.sum()
	return l
}

// Links is the graph without directions: neurons that send to each other have an
// edge of count 2.
func (g *Graph) Links() *Links {
	l := &Links{row: make([]int, g.N+1), self: make([]int64, g.N), to: make([]int32, 2*g.Edges())}
	at := 0
	for i := range g.N {
		at += copy(l.to[at:], g.Dst[g.Row[i]:g.Row[i+1]])
		for _, e := range g.Incoming(i) {
			l.to[at] = g.Src[e]
			at++
		}
		l.row[i+1] = at
	}
	l.sum()
	return l
}

// Nodes is how many nodes there are.
func (l *Links) Nodes() int { return len(l.self) }

// sum computes the degrees.
func (l *Links) sum() {
	l.degree, l.total = make([]int64, len(l.self)), 0
	for i, s := range l.self {
		d := 2 * s
		if l.count == nil {
			d += int64(l.row[i+1] - l.row[i])
		} else {
			for _, c := range l.count[l.row[i]:l.row[i+1]] {
				d += c
			}
		}
		l.degree[i] = d
		l.total += d
	}
}

// merge makes the graph of communities: their number, and of what community each
// node is.
func (l *Links) merge(of []int32, n int) *Links {
	m := &Links{row: make([]int, n+1), self: make([]int64, n)}
	first, next := make([]int32, n), make([]int32, len(of)) // members, ascending
	for i := range first {
		first[i] = -1
	}
	for i := len(of) - 1; i >= 0; i-- {
		next[i] = first[of[i]]
		first[of[i]] = int32(i)
	}
	sum := make([]int64, n)
	var seen []int32
	for c := range n {
		seen = seen[:0]
		var inside int64
		for i := first[c]; i >= 0; i = next[i] {
			m.self[c] += l.self[i]
			for k := l.row[i]; k < l.row[i+1]; k++ {
				d, w := of[l.to[k]], int64(1)
				if l.count != nil {
					w = l.count[k]
				}
				if int(d) == c {
					inside += w
					continue
				}
				if sum[d] == 0 {
					seen = append(seen, d)
				}
				sum[d] += w
			}
		}
		m.self[c] += inside / 2 // both ends
		slices.Sort(seen)
		for _, d := range seen {
			m.to, m.count = append(m.to, d), append(m.count, sum[d])
			sum[d] = 0
		}
		m.row[c+1] = len(m.to)
	}
	if m.count == nil {
		m.count = []int64{}
	}
	m.sum()
	return m
}

// Modularity is how much more edges lie within communities than if ends met by
// chance (M. Newman and M. Girvan, 2004): Σ in ÷ m − (degree ÷ 2m)². of is the
// community of every node, from 0 to below the number of nodes.
func (l *Links) Modularity(of []int32) float64 {
	if l.total == 0 {
		return 0
	}
	inside, degree := make([]int64, len(of)), make([]int64, len(of))
	for i, c := range of {
		inside[c] += 2 * l.self[i]
		degree[c] += l.degree[i]
		for k := l.row[i]; k < l.row[i+1]; k++ {
			if of[l.to[k]] != c {
				continue
			}
			if l.count == nil {
				inside[c]++
			} else {
				inside[c] += l.count[k]
			}
		}
	}
	m, q := float64(l.total), 0.0
	for c, d := range degree {
		q += float64(inside[c])/m - float64(d)/m*(float64(d)/m)
	}
	return q
}
