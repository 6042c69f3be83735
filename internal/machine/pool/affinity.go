package pool

import (
	"sync/atomic"
	"time"
)

// If processes share the processors, a thread may be preempted in the middle of
// a chunk for some milliseconds, and no other thread can finish that chunk. So a
// waiter that has waited longer than a chunk takes checks whether the other
// thread is running. If it is not, the waiter moves it to its own core and
// sleeps: the chunk is finished within microseconds. Thus the pool uses whatever
// time the system gives to any of its threads.
//
// Afterwards the worker is kept off the caller's core, where the system would
// otherwise wake it and it could not help. The caller's thread, which does not
// belong to the pool, is moved but keeps its affinity mask. A pool without
// competition leaves placement to the system.

const (
	// watchFor is the time without progress after which a thread counts as stalled.
	watchFor = 20 * time.Microsecond
	// watches is how often a waiter checks before it sleeps although the other
	// thread is running: chunks of prompts are long.
	watches = 10
)

type outcome int

const (
	changed  outcome = iota // the word changed
	stalled                 // the thread is preempted or asleep
	patience                // the thread keeps running
)

// watch polls word, which t will change, and checks whether t is running.
func (p *Pool) watch(t *thread, word *atomic.Uint64, old uint64) outcome {
	before, ok := p.affinity.clock(t)
	if !p.spin || !ok {
		return patience
	}
	for range watches {
		if p.poll(word, old, watchFor) {
			return changed
		}
		now, ok := p.affinity.clock(t)
		switch {
		case !ok:
			return patience
		case now == before:
			return stalled
		}
		before = now
	}
	return patience
}

// Migrations returns how often a preempted thread was moved to a waiting thread's
// core. It grows while other processes compete for the processors. It is safe
// for concurrent use.
func (p *Pool) Migrations() int64 { return p.migrated.Load() }

func (p *Pool) migrate(t *thread) bool {
	if !p.affinity.pin(t) {
		return false
	}
	p.migrated.Add(1)
	return true
}

// awaitCaller is called by a worker s that has long waited for a generation
// after last, and reports whether it came. If the caller was preempted in its
// own share, it is moved here and the worker makes room for it.
func (p *Pool) awaitCaller(s *share, last uint64) bool {
	if !p.working() {
		return false
	}
	if !p.overdue.Load() {
		p.overdue.Store(true)
	}
	switch p.watch(&p.caller, &p.gen, last) {
	case changed:
		return true
	case stalled:
		// Checked again: the caller may have ended the section and gone to sleep.
		if p.working() && p.gen.Load() == last && p.affinity.pull(&p.caller) {
			p.migrated.Add(1)
			p.affinity.avoid(&s.thread)
		}
	}
	return false
}

// working reports whether the caller is inside a section and not waiting.
func (p *Pool) working() bool { return p.busy.Load() && p.parker.state.Load() == awake }
