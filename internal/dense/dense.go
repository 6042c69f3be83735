// What all functions share: element types, threads and scratch memory.

package dense

import (
	"unsafe"

	"atenia/internal/pool"
)

// Float is an element type: float32 to train with, float64 to check.
type Float interface{ float32 | float64 }

// A Work computes with whole batches: it holds a pool of threads, or none, and
// scratch memory that is kept for the next call. It belongs to one goroutine at
// a time, and so does its pool meanwhile.
type Work[F Float] struct {
	pool      *pool.Pool
	product   product[F]
	gemm      gemm
	panels    []panel // of threads
	rows      rowTask[F]
	attention attention[F]
	columns   columnTask[F]
	scratch   []F
}

// New returns a Work with the threads of a pool, or with none but the
// caller's if it is nil.
func New[F Float](p *pool.Pool) *Work[F] {
	w := &Work[F]{pool: p}
	w.panels = make([]panel, w.Threads())
	return w
}

// Threads is how many threads compute, the caller's included.
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

// grainOf returns how many rows are worth a thread's attention, when one row
// costs so many elementary steps.
func grainOf(steps int) int { return max(1, 16384/max(1, steps)) }

// take returns n values of scratch memory, whatever they are.
func (w *Work[F]) take(n int) []F {
	if cap(w.scratch) < n {
		w.scratch = make([]F, n)
	}
	return w.scratch[:n]
}

// single reports whether F is float32, which the compiler knows.
func single[F Float]() bool { return unsafe.Sizeof(F(0)) == 4 }

// singles returns x as the float32 values that they are.
func singles[F Float](x []F) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}
