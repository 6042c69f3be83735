// The threads that compute.

package grad

import "atenia/internal/machine/pool"

// Threads are a team of threads that tapes, optimizers and norm meters share to
// compute. Results are the same bits for any number of them. A nil *Threads is
// the caller's thread alone, which is enough for small models.
//
//	threads := grad.NewThreads(runtime.NumCPU())
//	defer threads.Close()
//	t := grad.New[float32](nil, grad.WithThreads(threads))
//
// Everything that shares Threads may be used by one goroutine at a time:
// independent models that train at once need Threads of their own. Idle threads
// spin for a moment, then sleep.
type Threads struct{ pool *pool.Pool }

// NewThreads starts n threads, of which the caller's is one; fewer than 1 counts
// as 1. More than the machine has cores makes computing slower. Call
// [Threads.Close] to end them.
func NewThreads(n int) *Threads { return &Threads{pool: pool.New(n)} }

// Close ends the threads and waits for them. Computing afterwards uses the
// caller's thread. It may be called more than once.
func (t *Threads) Close() {
	if t != nil {
		t.pool.Close()
	}
}

// Count returns the number of threads, the caller's included.
func (t *Threads) Count() int {
	if t == nil {
		return 1
	}
	return t.pool.Threads()
}

// A Ranger is work on a range of indices, for [Threads.Range].
type Ranger interface {
	// Range works on the indices [lo, hi). It is called with disjoint ranges, by
	// several threads at once and more than once by each; worker, from 0 to
	// Count-1, tells them apart, for scratch memory.
	Range(worker, lo, hi int)
}

// Range divides [0, n) among the threads and returns when all of it is done. Parts
// begin at multiples of grain, so that n ≤ grain runs on the caller's thread alone;
// choose it such that a part takes some microseconds. Which thread has which
// part changes from call to call, so a sum across parts must be added up afterwards
// to be the same bits every time.
//
// Use it inside opaque operations. A panic in r is raised again by Range.
func (t *Threads) Range(n, grain int, r Ranger) {
	switch {
	case t != nil:
		t.pool.Range(n, grain, r)
	case n > 0:
		r.Range(0, 0, n)
	}
}

// inner returns the pool, nil for a nil t.
func (t *Threads) inner() *pool.Pool {
	if t == nil {
		return nil
	}
	return t.pool
}

// innerOrOne is inner with a pool of one thread for a nil t.
func (t *Threads) innerOrOne() *pool.Pool {
	if t == nil {
		return pool.New(1)
	}
	return t.pool
}
