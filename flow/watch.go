package flow

import (
	"sync/atomic"

	"atenia/internal/machine/cpu"
)

// patience is the number of consecutive calls over the limit that suspends a
// node.
const patience = 3

// doublings is how often the back-off of a node that is suspended again doubles.
const doublings = 6

// A watch measures how long the calls of nodes take and enforces a limit: beyond it
// the host zeroes the outputs, and three calls in a row that were suspend the node,
// until a back-off ends or it is resumed. Nothing here allocates, locks or writes a
// pointer. A nil watch measures nothing and suspends no node.
type watch struct {
	Now     func() int64 // a monotonic clock, in nanoseconds
	limit   int64        // of a call, in nanoseconds; 0: none
	row     []atomic.Int32
	backOff int    // blocks
	rests   []rest // written by Turn alone
}

// A rest is when a node is suspended and how often it was.
type rest struct {
	left  int // blocks until it is called again, 0: it is
	times int
	calm  int // blocks since then
}

// newWatch returns a watch of nodes nodes, whose calls may take limit nanoseconds,
// any time if that is 0, and which are called again backOff blocks after they
// were suspended for the first time; 0: never. A nil clock stands for the
// runtime's.
func newWatch(nodes int, limit int64, backOff int, now func() int64) *watch {
	if now == nil {
		now = cpu.Nanotime
	}
	return &watch{Now: now, limit: limit, row: make([]atomic.Int32, nodes), backOff: backOff, rests: make([]rest, nodes)}
}

// Limits reports whether calls have a limit.
func (w *watch) Limits() bool { return w != nil && w.limit > 0 }

// Late records that a call of a node took ns nanoseconds, and reports whether
// that exceeds the limit.
func (w *watch) Late(node int, ns int64) bool {
	if w.limit == 0 || ns <= w.limit {
		w.row[node].Store(0)
		return false
	}
	w.row[node].Add(1)
	return true
}

// Suspended reports whether a node must not be called.
func (w *watch) Suspended(node int) bool { return w.Limits() && w.row[node].Load() >= patience }

// Turn ends a block. It calls out for each node that is suspended from now on,
// with the number of blocks, and for each that will be called again, with 0. A
// node that stays within its limit for 64 times the first back-off is forgiven.
// One thread at a time may call it.
func (w *watch) Turn(out func(node, blocks int)) {
	if !w.Limits() || w.backOff == 0 {
		return
	}
	for i := range w.rests {
		r := &w.rests[i]
		switch suspended := w.Suspended(i); {
		case suspended && r.left == 0:
			r.left, r.calm = w.backOff<<min(r.times, doublings), 0
			r.times++
			out(i, r.left)
		case suspended:
			if r.left--; r.left == 0 {
				w.Resume(i)
				out(i, 0)
			}
		case r.times > 0:
			r.left = 0 // the host resumed it
			if r.calm++; r.calm >= w.backOff<<doublings {
				r.times = 0
			}
		}
	}
}

// Resume lets a node be called again. Any goroutine may call it.
func (w *watch) Resume(node int) { w.row[node].Store(0) }

// Reset lets all nodes be called again.
func (w *watch) Reset() {
	if w == nil {
		return
	}
	for i := range w.row {
		w.Resume(i)
		w.rests[i] = rest{}
	}
}
