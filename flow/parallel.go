package flow

import (
	"io"
	"unsafe"

	"atenia/internal/machine/pool"
)

// runParallel runs a block of the static list on several threads.
func (s *Session[F]) runParallel() {
	for i := range s.static.sections {
		c := &s.static.sections[i]
		if len(c.Strands) == 1 {
			c.Range(0, 0, 1)
			continue
		}
		s.pool.Range(len(c.Strands), 1, c)
	}
}

// worthThreads is the cost from which a section is divided among threads, in bytes that its calls read and write:
// about 20 µs of light work, ten times the cost of waking the threads.
const worthThreads = 1 << 18

// partition divides the static list into strands.
func (s *Session[F]) partition(jobs []*job[F]) {
	tasks := make([]strandTask, len(jobs))
	owner := map[*unit[F]]int{}
	for i, t := range jobs {
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
	if s.static.sections = cutStrands(tasks, s.opt.Threads, worth); s.static.sections != nil {
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

// Close ends the session's threads and frees what nodes hold outside Go's heap, such as the state of nodes in C. It
// leaves [Options.Memory] to its owner.
func (s *Session[F]) Close() {
	if s.pool != nil {
		s.pool.Close()
	}
	s.dropHeir()
	for _, p := range s.procs {
		if c, ok := p.inst.(io.Closer); ok {
			c.Close()
		}
	}
}
