package watch

import "sync/atomic"

// Patience is how many calls in a row may take too long.
const Patience = 3

// A Watch measures calls by node. One that is nil measures nothing and suspends
// nobody.
type Watch struct {
	Now   func() int64 // nanoseconds of a clock that never goes back
	limit int64        // of a call, in nanoseconds; 0: none
	row   []atomic.Int32
}

// New returns a watch of so many nodes, whose calls may take limit nanoseconds,
// or as long as they like when that is 0. No clock: the runtime's.
func New(nodes int, limit int64, now func() int64) *Watch {
	if now == nil {
		now = Nanotime
	}
	return &Watch{Now: now, limit: limit, row: make([]atomic.Int32, nodes)}
}

// Limits reports whether calls may take too long.
func (w *Watch) Limits() bool { return w != nil && w.limit > 0 }

// Late takes down that a call of a node took ns nanoseconds, and reports
// whether that is too long.
func (w *Watch) Late(node int, ns int64) bool {
	if w.limit == 0 || ns <= w.limit {
		w.row[node].Store(0)
		return false
	}
	w.row[node].Add(1)
	return true
}

// Suspended reports whether a node is not to be called.
func (w *Watch) Suspended(node int) bool { return w.Limits() && w.row[node].Load() >= Patience }

// Resume lets a node be called again. Any goroutine may ask for it.
func (w *Watch) Resume(node int) { w.row[node].Store(0) }

// Reset lets all nodes be called again.
func (w *Watch) Reset() {
	if w == nil {
		return
	}
	for i := range w.row {
		w.Resume(i)
	}
}
