// Shared by all functions: element types, threads and scratch memory.

package dense

import (
	"unsafe"

	"atenia/internal/machine/pool"
)

// Float is an element type: float32 to train, float64 to check gradients.
type Float interface{ float32 | float64 }

// A Work runs batched operations: it holds a pool of threads, or none, and
// scratch memory that is reused by the next call. It and its pool belong to one
// goroutine at a time.
type Work[F Float] struct {
	pool      *pool.Pool
	product   product[F]
	gemm      gemm
	panels    []panel // one per thread
	rows      rowTask[F]
	attention attention[F]
	columns   columnTask[F]
	scratch   []F
}

// New returns a Work with the threads of a pool, or only the caller's if it is
// nil.
func New[F Float](p *pool.Pool) *Work[F] {
	w := &Work[F]{pool: p}
	w.panels = make([]panel, w.Threads())
	return w
}

// Threads returns the number of threads that compute, including the caller's.
func (w *Work[F]) Threads() int {
	if w.pool == nil {
		return 1
	}
	return w.pool.Threads()
}

// each runs r over [0, n) in multiples of grain.
func (w *Work[F]) each(n, grain int, r pool.Ranger) {
	switch {
	case n <= 0:
	case w.pool == nil || n <= grain:
		r.Range(0, 0, n)
	default:
		w.pool.Range(n, grain, r)
	}
}

// grainOf returns the number of rows that justify a thread, if one row costs
// that many elementary steps.
func grainOf(steps int) int { return max(1, 16384/max(1, steps)) }

// take returns n uninitialized values of scratch memory.
func (w *Work[F]) take(n int) []F {
	if cap(w.scratch) < n {
		w.scratch = make([]F, n)
	}
	return w.scratch[:n]
}

// single reports whether F is float32, a constant to the compiler.
func single[F Float]() bool { return unsafe.Sizeof(F(0)) == 4 }

// singles returns x, whose type must be float32.
func singles[F Float](x []F) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}
