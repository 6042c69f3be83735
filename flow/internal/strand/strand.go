package strand

import "atenia/internal/fpenv"

// A Task is calls that one thread makes in a row.
type Task struct {
	Run   []func()
	Level int   // tasks of one level need nothing of each other
	Needs []int // tasks that come before, by index
	Cost  int   // in any unit
}

// A Stretch is strands that need nothing of each other.
type Stretch struct{ Strands [][]func() }

// Range runs strands, on a thread that takes denormals as zero. It is called by
// a pool whose workers keep their threads.
func (s *Stretch) Range(_, lo, hi int) {
	before := fpenv.FlushDenormals()
	for _, strand := range s.Strands[lo:hi] {
		for _, f := range strand {
			f()
		}
	}
	fpenv.Set(before)
}

// longest is how many tasks a stretch has at most, beyond which finding what
// hangs together would take long.
const longest = 4096

// Cut divides tasks, which are sorted by level, among threads. A stretch that
// costs less than worth is one strand. Nil: nothing is worth more than one.
func Cut(tasks []Task, threads, worth int) []Stretch {
	if threads < 2 {
		return nil
	}
	var all []cut
	for lo := 0; lo < len(tasks); {
		hi := lo + 1
		for hi < len(tasks) && tasks[hi].Level == tasks[lo].Level {
			hi++
		}
		next := join(tasks, lo, hi)
		if k := len(all) - 1; k >= 0 && hi-all[k].lo <= longest {
			if more := join(tasks, all[k].lo, hi); more.wide(threads) || !all[k].wide(2) && !next.wide(2) {
				all[k], lo = more, hi
				continue
			}
		}
		all, lo = append(all, next), hi
	}
	var out []Stretch
	side := false
	for i := range all {
		c := &all[i]
		if c.cost < worth || !c.wide(2) {
			clear(c.strand)
		}
		s := Stretch{c.strands(tasks)}
		side = side || len(s.Strands) > 1
		out = append(out, s)
	}
	if !side {
		return nil
	}
	return out
}

// A cut is tasks [lo, hi) and which of them hang together.
type cut struct {
	lo, hi int
	strand []int // by task: the first task of its strand, counted from lo
	cost   int
	most   int // cost of the dearest strand
}

// join finds what hangs together.
func join(tasks []Task, lo, hi int) cut {
	c := cut{lo: lo, hi: hi, strand: make([]int, hi-lo)}
	first := func(i int) int {
		for c.strand[i] != i {
			i = c.strand[i]
		}
		return i
	}
	for i := range c.strand {
		c.strand[i] = i
		for _, n := range tasks[lo+i].Needs {
			if n >= lo {
				a, b := first(i), first(n-lo)
				c.strand[max(a, b)] = min(a, b)
			}
		}
	}
	costs := make([]int, len(c.strand))
	for i := range c.strand {
		c.strand[i] = first(i)
		c.cost += tasks[lo+i].Cost
		costs[c.strand[i]] += tasks[lo+i].Cost
		c.most = max(c.most, costs[c.strand[i]])
	}
	return c
}

// wide reports whether n threads would be kept reasonably busy.
func (c *cut) wide(n int) bool { return 4*c.cost >= 3*n*c.most }

// strands are the calls of each strand in order.
func (c *cut) strands(tasks []Task) [][]func() {
	var all [][]func()
	at := map[int]int{}
	for i, first := range c.strand {
		k, ok := at[first]
		if !ok {
			k = len(all)
			at[first] = k
			all = append(all, nil)
		}
		all[k] = append(all[k], tasks[c.lo+i].Run...)
	}
	return all
}
