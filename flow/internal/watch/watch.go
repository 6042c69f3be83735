package watch

import "sync/atomic"

// Patience is the number of consecutive calls over the limit that suspends a
// node.
const Patience = 3

// A Watch measures calls by node. A nil Watch measures nothing and suspends no
// node.
type Watch struct {
	Now   func() int64 // a monotonic clock, in nanoseconds
	limit int64        // of a call, in nanoseconds; 0: none
	row   []atomic.Int32
}

// New returns a watch of nodes nodes, whose calls may take limit nanoseconds,
// any time if that is 0. A nil clock stands for the runtime's.
func New(nodes int, limit int64, now func() int64) *Watch {
	if now == nil {
		now = Nanotime
	}
	return &Watch{Now: now, limit: limit, row: make([]atomic.Int32, nodes)}
}

// Limits reports whether calls have a limit.
func (w *Watch) Limits() bool { return w != nil && w.limit > 0 }

// Late records that a call of a node took ns nanoseconds, and reports whether
// that exceeds the limit.
func (w *Watch) Late(node int, ns int64) bool {
	if w.limit == 0 || ns <= w.limit {
		w.row[node].Store(0)
		return false
	}
	w.row[node].Add(1)
	return true
}

// Suspended reports whether a node must not be called.
func (w *Watch) Suspended(node int) bool { return w.Limits() && w.row[node].Load() >= Patience }

// Resume lets a node be called again. Any goroutine may call it.
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
