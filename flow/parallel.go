package flow

import (
	"unsafe"

	"atenia/flow/node"
	"atenia/internal/fpenv"
	"atenia/internal/pool"
)

// A crew is a stretch of the static list: strands that need nothing of each
// other, each run by one thread from start to end.
type crew struct{ strands [][]func() }

// Range runs strands. It is called by [pool.Pool.Range].
func (c *crew) Range(_, lo, hi int) {
	before := fpenv.FlushDenormals() // a worker keeps its thread
	for _, strand := range c.strands[lo:hi] {
		for _, f := range strand {
			f()
		}
	}
	fpenv.Set(before)
}

// parade runs a block of the list on several threads.
func (s *Session[F]) parade() {
	for i := range s.static.crews {
		c := &s.static.crews[i]
		if len(c.strands) == 1 {
			c.Range(0, 0, 1)
			continue
		}
		s.pool.Range(len(c.strands), 1, c)
	}
}

// A stretch is some levels of teams, and which of them hang together.
type stretch[F node.Float] struct {
	teams  []*team[F]
	strand []int // by team: the first team of its strand
	cost   int
	most   int // cost of the dearest strand
}

// worthThreads is the cost from which threads are called for, in bytes of
// output: about 20 µs of light work, ten times what calling them takes.
const worthThreads = 1 << 18

// muster divides the list among threads: levels are joined to a stretch as long
// as enough strands remain that do not meet. It goes by the plan's figures, not
// by clocks, so the same plan is always cut alike.
func (s *Session[F]) muster(teams []*team[F]) {
	if s.opt.Threads < 2 {
		return
	}
	var all []stretch[F]
	for len(teams) > 0 {
		n := 1
		for n < len(teams) && teams[n].units[0].level == teams[0].units[0].level {
			n++
		}
		if k := len(all) - 1; k >= 0 {
			if more := join(append(all[k].teams[:len(all[k].teams):len(all[k].teams)], teams[:n]...)); more.wide(s.opt.Threads) || !all[k].wide(2) && len(more.strands()) == 1 {
				all[k] = more
				teams = teams[n:]
				continue
			}
		}
		all = append(all, join(teams[:n]))
		teams = teams[n:]
	}
	side := false
	for _, st := range all {
		strands := st.strands()
		if !s.opt.eager && st.cost < worthThreads || !st.wide(2) {
			strands = [][]func(){st.list()}
		}
		side = side || len(strands) > 1
		s.static.crews = append(s.static.crews, crew{strands})
	}
	if !side {
		s.static.crews = nil
		return
	}
	s.pool = pool.New(s.opt.Threads)
}

// join finds what hangs together among teams in order.
func join[F node.Float](teams []*team[F]) stretch[F] {
	st := stretch[F]{teams: teams, strand: make([]int, len(teams))}
	owner := map[*unit[F]]int{}
	find := func(i int) int {
		for st.strand[i] != i {
			i = st.strand[i]
		}
		return i
	}
	for i, t := range teams {
		st.strand[i] = i
		for _, u := range t.units {
			owner[u] = i
			for _, v := range u.needs {
				if j, ok := owner[v]; ok {
					a, b := find(i), find(j)
					st.strand[max(a, b)] = min(a, b)
				}
			}
		}
	}
	costs := make([]int, len(teams))
	for i, t := range teams {
		st.strand[i] = find(i)
		c := t.cost()
		st.cost += c
		costs[st.strand[i]] += c
		st.most = max(st.most, costs[st.strand[i]])
	}
	return st
}

// cost is the number of bytes that the team's calls write, or read.
func (t *team[F]) cost() (n int) {
	for _, u := range t.units {
		n += 64
		for _, ts := range [][]node.Tensor[F]{u.bound.In, u.bound.Out} {
			for i := range ts {
				n += size(&ts[i]) * int(unsafe.Sizeof(F(0)))
			}
		}
	}
	return n
}

// wide reports whether n threads would be kept reasonably busy.
func (st *stretch[F]) wide(n int) bool { return 4*st.cost >= 3*n*st.most }

// strands are the calls of each strand in order.
func (st *stretch[F]) strands() [][]func() {
	var all [][]func()
	at := map[int]int{}
	for i, t := range st.teams {
		k, ok := at[st.strand[i]]
		if !ok {
			k = len(all)
			at[st.strand[i]] = k
			all = append(all, nil)
		}
		all[k] = append(all[k], t.list...)
	}
	return all
}

// list are all calls in order.
func (st *stretch[F]) list() []func() {
	var all []func()
	for _, t := range st.teams {
		all = append(all, t.list...)
	}
	return all
}

// Close ends the session's threads.
func (s *Session[F]) Close() {
	if s.pool != nil {
		s.pool.Close()
	}
}
