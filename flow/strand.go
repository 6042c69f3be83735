package flow

import "atenia/internal/machine/cpu"

// A strandTask is a sequence of calls that one thread makes.
type strandTask struct {
	Run   []func()
	Level int   // tasks of one level do not depend on each other
	Needs []int // indices of the tasks that must run earlier
	Cost  int   // in any unit
}

// A section is a set of strands that do not depend on each other.
type section struct{ Strands [][]func() }

// Range runs strands with denormals flushed to zero. It is called by a pool
// whose workers are locked to their threads.
func (s *section) Range(_, lo, hi int) {
	before := cpu.FlushDenormals()
	for _, strand := range s.Strands[lo:hi] {
		for _, f := range strand {
			f()
		}
	}
	cpu.SetFloatEnv(before)
}

// maxSection bounds the tasks of a section, since finding connected components
// in it repeatedly is quadratic.
const maxSection = 4096

// cutStrands partitions tasks, sorted by level, among threads.
//
//	tasks by level            section 1            section 2
//	                          strand a  a1─a3─a5   a6─a7
//	a1 … a7  ──cutStrands──▶  strand b  a2─a4
//	                          └ in parallel ──┘    └ one thread ┘
//
// Levels are merged into a section as long as independent strands remain, so
// threads synchronize once per section instead of once per level. Costs are
// computed from the plan and not measured: the same plan is always cut alike. A
// section that costs less than worth becomes one strand. Nil: no section is
// worth more than one thread.
func cutStrands(tasks []strandTask, threads, worth int) []section {
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
		if k := len(all) - 1; k >= 0 && hi-all[k].lo <= maxSection {
			if more := join(tasks, all[k].lo, hi); more.wide(threads) || !all[k].wide(2) && !next.wide(2) {
				all[k], lo = more, hi
				continue
			}
		}
		all, lo = append(all, next), hi
	}
	var out []section
	side := false
	for i := range all {
		c := &all[i]
		if c.cost < worth || !c.wide(2) {
			clear(c.strand)
		}
		s := section{c.strands(tasks)}
		side = side || len(s.Strands) > 1
		out = append(out, s)
	}
	if !side {
		return nil
	}
	return out
}

// A cut is tasks [lo, hi) with their connected components.
type cut struct {
	lo, hi int
	strand []int // by task: the first task of its strand, relative to lo
	cost   int
	most   int // cost of the most expensive strand
}

// join finds connected components.
func join(tasks []strandTask, lo, hi int) cut {
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

// strands returns the calls of each strand in order.
func (c *cut) strands(tasks []strandTask) [][]func() {
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
