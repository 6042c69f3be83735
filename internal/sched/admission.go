package sched

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// An admission is who waits and who runs: the queue of requests, the clients that share
// what is computed, and the slots in the order in which they keep their memory. queue.go
// admits by it, and memory.go evicts and preempts.
//
// The slots belong to the scheduler's goroutine, the queue to all.
type admission struct {
	slots []*slot       // by rank, then by admission: the first keeps its memory longest
	clock uint64        // counts admissions, and uses of kept sequences
	freed bool          // a request ended since the last step was filled, so that stalled ones may go on
	named atomic.Uint64 // requests that were given an id

	mu       sync.Mutex // guards what follows
	closed   bool
	crashed  error // the panic of a step, which has closed the scheduler
	arrivals uint64
	clients  map[string]*client
	queue    []*Stream // oldest first
}

func newAdmission() admission { return admission{clients: map[string]*client{}} }

// enqueue puts a request behind those that wait. It reports false if no requests are
// taken any more. steps is how many were computed before.
func (a *admission) enqueue(st *Stream, steps uint64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return false
	}
	a.arrivals++
	st.number, st.came, st.client = a.arrivals, steps, a.client(st.req.Client)
	a.queue = append(a.queue, st)
	return true
}

// requeue puts a request that had a slot before all that wait.
func (a *admission) requeue(st *Stream) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.queue = slices.Concat([]*Stream{st}, a.queue)
}

// dequeue removes a request from the queue.
func (a *admission) dequeue(st *Stream) {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := slices.Index(a.queue, st)
	// A copy: the scheduler's goroutine reads the slice without the lock.
	a.queue = slices.Concat(a.queue[:i], a.queue[i+1:])
}

// waiting returns the requests in the queue, oldest first. The loop alone
// removes them, so it may read the slice without the lock.
func (a *admission) waiting() []*Stream {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.queue
}

// waitingCopy returns the requests in the queue, for any goroutine.
func (a *admission) waitingCopy() []*Stream {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.queue)
}

// takeCancelled removes the requests from the queue that were cancelled.
func (a *admission) takeCancelled() (cancelled []*Stream) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.queue = slices.DeleteFunc(a.queue, func(st *Stream) bool {
		is := st.cancelled.Load() != nil
		if is {
			cancelled = append(cancelled, st)
		}
		return is
	})
	return cancelled
}

// close lets no further request in.
func (a *admission) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
}

// drain lets no further request in, because of a panic or with nil by [Scheduler.Close],
// and returns those that wait.
func (a *admission) drain(crashed error) (waiting []*Stream) {
	a.mu.Lock()
	defer a.mu.Unlock()
	waiting, a.queue = a.queue, nil
	a.closed, a.crashed = true, crashed
	return waiting
}

func (a *admission) isClosed() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.closed
}

// ending returns why the scheduler takes no requests any more.
func (a *admission) ending() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return cmp.Or(a.crashed, ErrClosed)
}

// pick returns a slot by its number; 0 is the one that was admitted last, or with idle
// the idle one whose sequence is the shortest.
func (a *admission) pick(number int, idle bool) (*slot, error) {
	if number < 0 || number > len(a.slots) {
		return nil, &slotError{number, fmt.Sprintf("there are slots 1 to %d", len(a.slots))}
	}
	var best *slot
	for _, sl := range a.slots {
		switch {
		case number > 0 && sl.id != number-1 || number == 0 && idle && !sl.idle():
		case best == nil, !idle && sl.began > best.began, idle && sl.done < best.done:
			best = sl
		}
	}
	if best == nil || idle && !best.idle() {
		return nil, &slotError{number, "it computes a request: come again when that has ended"}
	}
	return best, nil
}

// admit marks a slot as admitted last, with the rank of its request, by which memory is
// taken: the larger the sooner.
func (a *admission) admit(sl *slot, rank int64) {
	a.markUsed(sl)
	sl.rank = rank
	slices.SortFunc(a.slots, func(x, y *slot) int {
		return cmp.Or(cmp.Compare(x.rank, y.rank), cmp.Compare(x.began, y.began))
	})
}

// markUsed makes an idle slot the one that was used last.
func (a *admission) markUsed(sl *slot) {
	a.clock++
	sl.began = a.clock
}

// leastRecent returns the slot that was admitted longest ago of those that fit, nil if
// none does.
func (a *admission) leastRecent(fits func(*slot) bool) (least *slot) {
	for _, sl := range a.slots {
		if fits(sl) && (least == nil || sl.began < least.began) {
			least = sl
		}
	}
	return least
}

// victim returns the sequence that is preempted for that of sl: the one with the largest
// rank, if it is beyond sl's, so of equal priority the one admitted last. One whose reader
// is behind, which may be waiting for sl's answer, is preempted whatever its rank.
// nil = none.
func (a *admission) victim(sl *slot) *slot {
	for i, later := len(a.slots)-1, true; i >= 0; i-- {
		o := a.slots[i]
		if later = later && o != sl; !o.idle() && o != sl && o.holds() && (later || o.blocked) {
			return o
		}
	}
	return nil
}
