package pool

import (
	"sync/atomic"
	"time"
)

// Where processes share the processors, a thread loses its own in the middle
// of a chunk, for some milliseconds, and nobody else can finish what it began.
// So whoever waits for longer than a chunk takes looks whether the other still
// computes. If it does not, the waiter fetches it to its own processor and
// goes to sleep: the chunk is finished within microseconds. Thus the pool uses
// whatever time the system gives to any of its threads.
//
// Afterwards a worker is kept off the processor of the caller, on which the
// system would else wake it: there it helps nobody. The caller itself, whose thread is
// not the pool's, is moved but keeps its mask, and a pool without neighbours leaves placing to the system.

const (
	// watchFor is how long a thread must have stood still to be stalled.
	watchFor = 20 * time.Microsecond
	// watches is how often a waiter looks before it sleeps although the other
	// computes: chunks of prompts are long.
	watches = 10
)

type outcome int

const (
	changed  outcome = iota // the word moved on
	stalled                 // the thread has no processor, or sleeps
	patience                // the thread computes for long
)

// watch goes on polling word, which t will change, and sees how t fares.
func (p *Pool) watch(t *thread, word *atomic.Uint64, old uint64) outcome {
	before, ok := p.seat.clock(t)
	if !p.spin || !ok {
		return patience
	}
	for range watches {
		if p.poll(word, old, watchFor) {
			return changed
		}
		now, ok := p.seat.clock(t)
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

// Fetched returns how often a thread has been fetched. It grows while other
// processes keep the processors busy. Any goroutine may ask.
func (p *Pool) Fetched() int64 { return p.fetched.Load() }

func (p *Pool) fetch(t *thread) bool {
	if !p.seat.fetch(t) {
		return false
	}
	p.fetched.Add(1)
	return true
}

// awaitCaller is for worker s, which has long waited for a generation after
// last, and reports whether it came. A caller that lost its processor in its
// own share is fetched, and the worker makes room for it.
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
		// Seen again: it may have ended the section and have gone to sleep.
		if p.working() && p.gen.Load() == last && p.seat.bring(&p.caller) {
			p.fetched.Add(1)
			p.seat.shoo(&s.thread)
		}
	}
	return false
}

// working reports whether the caller is inside a section and does not wait.
func (p *Pool) working() bool { return p.busy.Load() && p.bed.state.Load() == awake }
