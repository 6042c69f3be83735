package pool

import "sync/atomic"

// A parker is where one thread sleeps until another wakes it. The sleeper calls
// prepare, checks once more for a reason to stay awake, and then calls cancel or
// park; a waker creates the reason first and then calls unpark. With
// sequentially consistent atomics at least one of the two sees the other. Only
// its own thread may park on a parker.
type parker struct {
	state atomic.Uint32
	signal
}

const (
	awake  = iota
	asleep // or about to be
)

// prepare announces that the thread is about to sleep.
func (p *parker) prepare() { p.state.Store(asleep) }

// cancel withdraws the announcement.
func (p *parker) cancel() {
	if !p.state.CompareAndSwap(asleep, awake) {
		p.park() // woken meanwhile: the signal has been sent or is about to be
	}
}

// park returns once unpark was called after prepare.
func (p *parker) park() { p.wait(&p.state) }

// unpark wakes the sleeper, if there is one. It is safe for concurrent use.
func (p *parker) unpark() {
	if p.state.Load() == asleep && p.state.CompareAndSwap(asleep, awake) {
		p.notify(&p.state)
	}
}
