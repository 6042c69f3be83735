// Package dsp implements the arithmetic of signal-processing nodes on rows,
// which are consecutive frames of one channel.
//
//	rows      Scale Mul Add AddScaled AddMul             element by element
//	sums      AddDot AddSum into [Lanes], SumSquares, Peak, NotFinite
//	windows   Correlate AddCorrelation Dot               FIR filters, resampling
//	biquads   [Bank]                                     rows side by side
//
// Everything exists for float32 and float64. The Go code is the specification;
// for float32 on amd64, assembly yields the same bits with 8 or 16 rows or
// frames at a time, depending on package kernel's variant. Nothing here
// allocates after construction, takes a lock or writes a pointer, so all of it
// may run on a real-time thread.
//
// # Cuts
//
// A stream arrives in slices, and no result depends on where it was cut.
// Filters carry their state. A sum over the frames of a stream, such as the
// gradient of a constant parameter, is accumulated from the last slice and
// frame to the first, in one of two forms:
//
//	Lanes   sixteen float64 sums; a frame's index in the stream picks one
//	Bank    a float32 sum that moves to a float64 one after every frame whose
//	        index is a multiple of 256
//
// # Rounding
//
// A product that is added to something is fused with the addition, with one
// rounding, in assembly and in Go (exact.FMA, math.FMA), unless a doc comment
// says otherwise.
package dsp

import (
	"math"
	"unsafe"

	"atenia/internal/kernel/exact"
)

// Float is the type of samples.
type Float interface{ float32 | float64 }

// single reports whether F is float32, a constant to the compiler.
func single[F Float]() bool { return unsafe.Sizeof(F(0)) == 4 }

// as32 returns x, whose type must be []float32.
func as32[F Float](x []F) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}

// fma returns a·b+c, rounded once.
func fma[F Float](a, b, c F) F {
	if single[F]() {
		return F(exact.FMA(float32(a), float32(b), float32(c)))
	}
	return F(math.FMA(float64(a), float64(b), float64(c)))
}
