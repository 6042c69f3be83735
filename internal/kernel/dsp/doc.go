// Package dsp implements the arithmetic of signal-processing nodes on rows,
// which are consecutive frames of one channel.
//
//	rows        Scale Mul Add AddScaled AddMul           element by element
//	sums        AddDot AddSum into Lanes, SumSquares, Peak, NotFinite
//	windows     Correlate AddCorrelation Dot             FIR filters, resampling
//	biquads     Bank, Framed                             rows side by side
//	transforms  FFT, RealFFT                             of any length
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
// rounding, in assembly and in Go (kernel.FMA, math.FMA), unless a doc comment
// says otherwise.
//
// # Fourier transforms
//
// An [fft], complex, or a [RealFFT] is made once for a length and holds all
// tables and scratch buffers. Real and imaginary parts are separate slices,
// because spectra are stored as rows, too.
//
//	length                     method
//	2^a 3^b 5^c                Stockham, radices 4, 2, 3, 5 (no bit reversal)
//	anything else              Bluestein: a convolution of the next power of two
//	real, even                 the complex transform of half the length, unpacked
//	real, odd                  the complex transform, half of it discarded
//
// One Stockham stage takes x[q + s(p + m j)], j < r, to y[q + s(r p + k)],
// k < r: the output of the last stage is in natural order.
//
//	    x ──► radix 4 ──► radix 4 ──► radix 5 ──► radix 5 ──► X      n = 400
//	s        1           4           16          80
//
// Forward is the sum with exp(-2 pi i j k / n). [RealFFT.Inverse] divides by n
// and inverts it; [fft.InverseSum] does not divide. [RealFFT.ForwardAdjoint] and
// [RealFFT.InverseAdjoint] are the transposes that gradients need.
package dsp

import (
	"math"
	"unsafe"

	"atenia/internal/kernel"
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
		return F(kernel.FMA(float32(a), float32(b), float32(c)))
	}
	return F(math.FMA(float64(a), float64(b), float64(c)))
}
