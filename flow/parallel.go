package flow

import (
	"io"
	"unsafe"

	"atenia/flow/internal/strand"
	"atenia/internal/pool"
)

// parade runs a block of the list on several threads.
func (s *Session[F]) parade() {
	for i := range s.static.stretches {
		c := &s.static.stretches[i]
		if len(c.Strands) == 1 {
			c.Range(0, 0, 1)
			continue
		}
		s.pool.Range(len(c.Strands), 1, c)
	}
}

// worthThreads is the cost from which threads are called for, in bytes that
// calls read and write: about 20 µs of light work, ten times what calling the
// threads takes.
const worthThreads = 1 << 18

// muster divides the list among threads.
func (s *Session[F]) muster(teams []*team[F]) {
	tasks := make([]strand.Task, len(teams))
	owner := map[*unit[F]]int{}
	for i, t := range teams {
		k := &tasks[i]
		k.Run, k.Level = t.list, t.units[0].level
		for _, u := range t.units {
			owner[u] = i
			for _, v := range u.needs {
				k.Needs = append(k.Needs, owner[v])
			}
			k.Cost += u.cost()
		}
	}
	worth := worthThreads
	if s.opt.eager {
		worth = 0
	}
	if s.static.stretches = strand.Cut(tasks, s.opt.Threads, worth); s.static.stretches != nil {
		s.pool = pool.New(s.opt.Threads)
	}
}

// cost is the number of bytes that the call reads and writes.
func (u *unit[F]) cost() int {
	n := 0
	for i := range u.bound.In {
		n += size(&u.bound.In[i])
	}
	for i := range u.bound.Out {
		n += size(&u.bound.Out[i])
	}
	return 64 + n*int(unsafe.Sizeof(F(0)))
}

// Close ends the session's threads, and gives back what nodes hold outside Go's
// heap: nodes in C have their states there.
func (s *Session[F]) Close() {
	if s.pool != nil {
		s.pool.Close()
	}
	for _, p := range s.procs {
		if c, ok := p.inst.(io.Closer); ok {
			c.Close()
		}
	}
}
