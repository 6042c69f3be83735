package pool

import "sync/atomic"

// A bed is where one thread sleeps until another wakes it. The sleeper lies
// down, looks once more whether there is a reason to stay up, and rises or
// sleeps; whoever makes a reason wakes it afterwards. With sequentially
// consistent atomics one of the two sees the other. A thread lies down in its
// own bed only.
type bed struct {
	state atomic.Uint32
	bell
}

const (
	awake  = iota
	asleep // or about to be
)

// lie announces sleep.
func (b *bed) lie() { b.state.Store(asleep) }

// rise takes the announcement back.
func (b *bed) rise() {
	if !b.state.CompareAndSwap(asleep, awake) {
		b.sleep() // woken meanwhile: the bell rings, or has rung
	}
}

// sleep returns when wake was called after lie.
func (b *bed) sleep() { b.wait(&b.state) }

// wake wakes the sleeper, if there is one. It may be called by many.
func (b *bed) wake() {
	if b.state.Load() == asleep && b.state.CompareAndSwap(asleep, awake) {
		b.ring(&b.state)
	}
}
