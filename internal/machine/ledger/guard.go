package ledger

import (
	"runtime"
	"sync/atomic"
	"time"
)

// How often [Guard] looks: in a control group with a limit the more often the less
// of it is left, and without one. A look takes some ten microseconds.
const (
	guardLeast   = 5 * time.Millisecond
	guardMost    = 100 * time.Millisecond
	guardMachine = time.Second
)

// guardRate is the bytes per second that nobody touches, not even all cores.
const guardRate = 4 << 30

// guardEvery is the time until the next look, in which what a group has left is
// not used up.
func guardEvery(left int64) time.Duration {
	least := float64(left) / guardRate * float64(time.Second)
	return min(max(guardLeast, time.Duration(min(least, float64(guardMost)))), guardMost)
}

// A group with less than this share of its limit left, and no more than so much, is
// about to be killed: the kernel takes pages for each processor ahead of their use.
const (
	guardShare     = 128
	guardSpare     = 2 << 20
	guardProcessor = 256 << 10 // for each
)

// guardPatience is how many looks in turn, five seconds, those who can give memory
// back are waited for: what takes it may be faster than a step that is interrupted, on a
// busy machine by far, and nothing is gained by an end that comes before the kernel's.
const guardPatience = int(5 * time.Second / guardLeast)

var relievers atomic.Int64

// Relieve says that the caller sees memory fall short and gives some back, until the
// returned function is called.
func Relieve() (end func()) {
	relievers.Add(1)
	return func() { relievers.Add(-1) }
}

// Guard is the last resort against being killed: it looks whether memory that the
// program has allocated, reserved or not, will exceed what the control group has
// left once it is touched, and tells full, once, on a goroutine of its own. Until
// the returned function is called it also keeps the bound of Go's heap near to
// what is left.
func Guard(full func(*Error)) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for looks := 0; ; {
			relieved := relievers.Load() > 0
			e, left, limited := Process.exceeded(!relieved)
			if looks++; e == nil {
				looks = 0
			} else if !relieved || looks > guardPatience {
				full(e)
				return
			}
			every := guardMachine
			if limited {
				every = guardEvery(left)
			}
			select {
			case <-done:
				return
			case <-time.After(every):
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

// exceeded measures, and returns by what the group's limit will be exceeded, or
// what is left of it; spare says that some of that is for the kernel. Who gives memory
// back goes on in the little that others leave: only its own growth is more than that.
func (a *Account) exceeded(spare bool) (e *Error, left int64, limited bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before, first := a.watch.seen, a.watch.seen == 0
	a.measure()
	m, heap := &a.watch.now, a.watch.heap()
	a.watch.seen = heap
	if m.GroupLimit == 0 {
		return nil, 0, false
	}
	// Go's memory that exceeds all that the process has was not touched yet.
	pending := max(0, heap-m.Own)
	if !first { // what grows goes on growing until the next look
		pending += max(0, heap-before)
	}
	left = m.GroupAvailable - pending
	if spare {
		left -= min(m.GroupLimit/guardShare, guardSpare+guardProcessor*int64(runtime.NumCPU()))
	}
	if left >= 0 {
		return nil, left, true
	}
	return &Error{Program, m.Own + pending, m.GroupAvailable, m.GroupLimit}, 0, true
}
