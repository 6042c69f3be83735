// Package dsp is the arithmetic of signal nodes on rows: a row is consecutive
// frames of one channel.
//
//	rows      Scale Mul Add AddScaled AddMul             element by element
//	sums      AddDot AddSum into [Lanes], SumSquares, Peak, NotFinite
//	windows   Correlate AddCorrelation Dot               FIR filters, resampling
//	biquads   [Bank]                                     rows side by side
//
// Everything exists for float32 and float64. Go's code is the specification;
// for float32 on amd64 assembly yields the same bits, 8 or 16 rows or frames
// at a time, as package kernel's variant says. Nothing here allocates after
// construction, takes a lock or writes a pointer, so all of it may run on a
// thread of a real-time host.
//
// # Cuts
//
// A stream arrives in slices, and no result depends on where it was cut.
// Filters carry their state. A sum over the frames of a stream, the gradient
// of a parameter that is constant, is made while slices and the frames in them
// are visited from the last to the first, and is kept in one of two ways:
//
//	Lanes   sixteen float64 sums; a frame's index in the stream picks one
//	Bank    a float32 sum that moves to a float64 one after every frame whose
//	        index is a multiple of 256
//
// # Rounding
//
// Products that are added to something are fused with the addition, with one
// rounding, in assembly and in Go (exact.FMA, math.FMA), except where a doc
// comment says otherwise.
package dsp

import (
	"math"
	"unsafe"

	"atenia/internal/kernel/exact"
)

// Float is what samples are.
type Float interface{ float32 | float64 }

// single reports whether F is float32; the compiler knows the answer.
func single[F Float]() bool { return unsafe.Sizeof(F(0)) == 4 }

// as32 is a row of float32, which x must be.
func as32[F Float](x []F) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}

// fma is a·b+c rounded once.
func fma[F Float](a, b, c F) F {
	if single[F]() {
		return F(exact.FMA(float32(a), float32(b), float32(c)))
	}
	return F(math.FMA(float64(a), float64(b), float64(c)))
}
