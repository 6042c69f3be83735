package flow

import (
	"unsafe"

	"atenia/flow/node"
	"atenia/internal/machine/cpu"
	"atenia/internal/machine/pool"
)

// A wideSweep replays firings on several threads, in rounds: all firings that are ready
// when a round begins, one of each node, are made at once.
//
//	round   1    2    3    4    5
//	n3      b4   b3   b2   b1   b0        a chain of three nodes, blocks b4 to b0
//	n2           b4   b3   b2   b1   …
//	n1                b4   b3   b2   …
//
// Threads meet only between rounds. Which firings a round has depends on the record
// alone, and no sum on their order, so that gradients are the bits of one thread.
type wideSweep[F node.Float] struct {
	s      *adjointSweep[F]
	pool   *pool.Pool
	window int32 // blocks that a round may span
	spaces []callStack[F]
	round  []roundCall[F]
	calls  []roundCall[F] // of the round
}

type roundCall[F node.Float] struct {
	v int
	f *entry[F]
}

// windowPerThread bounds how many blocks of gradients wait in channels: a round of four
// firings for each thread is busy enough to hide that they take unlike times.
const windowPerThread = 4

// worthCall is the mean size of a node's output, in bytes, from which several threads are
// worth their meeting: calls of about 10 µs.
const worthCall = 1 << 15

// spread lets the sweep use the threads of a session.
func (r *Record[F]) spread() {
	s := r.s
	if s.opt.Threads < 2 || r.sweep.wide != nil {
		return
	}
	size, called := 0, 0
	for v, p := range s.procs {
		if r.sweep.nodes[v].role != roleCalled {
			continue
		}
		called++
		for o, sh := range p.OutShape {
			size += sh.B * sh.C * p.Tokens * p.Spec.Prod[o] * int(unsafe.Sizeof(F(0)))
		}
	}
	if called < 2 || size/called < worthCall && !s.opt.eager {
		return
	}
	if s.pool == nil {
		s.pool = pool.New(s.opt.Threads)
	}
	r.sweep.wide = &wideSweep[F]{s: r.sweep, pool: s.pool, window: int32(windowPerThread * s.opt.Threads), spaces: make([]callStack[F], len(s.procs))}
}

// replayWide replays what is left of a journal. It stops early where a sweep on one
// thread would, too.
func (s *adjointSweep[F]) replayWide(j *callJournal[F], left []int) error {
	w := s.wide
	for {
		first := int32(-1)
		for v, n := range left {
			if n > 0 {
				first = max(first, j.logs[v].fired[n-1].block)
			}
		}
		w.round = w.round[:0]
		for i := len(s.linked.Order) - 1; i >= 0; i-- {
			v := s.linked.Order[i]
			if left[v] == 0 {
				continue
			}
			f := &j.logs[v].fired[left[v]-1]
			if f.block > first-w.window && s.ready(v, f) {
				w.round = append(w.round, roundCall[F]{v, f})
			}
		}
		if len(w.round) == 0 {
			return nil
		}
		if err := w.run(); err != nil {
			return err
		}
		for _, c := range w.round {
			left[c.v]--
			s.fired++
		}
		s.measure()
	}
}

// run makes the firings of a round. What hosts do is copied first; calls run on all
// threads, and what they give is queued in the order of the round.
func (w *wideSweep[F]) run() error {
	s := w.s
	w.calls = w.calls[:0]
	for _, c := range w.round {
		n := &s.nodes[c.v]
		s.enter(n, c.f)
		if n.space = &s.space; n.role != roleCalled {
			s.space.Reset()
			s.host(c.v, c.f)
			continue
		}
		n.space = &w.spaces[len(w.calls)]
		n.space.Reset()
		w.calls = append(w.calls, c)
	}
	if len(w.calls) > 1 {
		w.pool.Range(len(w.calls), 1, w)
	} else {
		for _, c := range w.calls {
			s.open(c.v, c.f)
		}
	}
	for _, c := range w.calls {
		if err := s.close(c.v, c.f); err != nil {
			return err
		}
	}
	for _, c := range w.round {
		s.settle(c.v)
	}
	return nil
}

// Range makes calls of a round, as the threads of a session do.
func (w *wideSweep[F]) Range(_, lo, hi int) {
	before := cpu.FlushDenormals()
	for _, c := range w.calls[lo:hi] {
		w.s.open(c.v, c.f)
	}
	cpu.SetFloatEnv(before)
}
