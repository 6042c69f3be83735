// Package fft implements discrete Fourier transforms of any length, complex and real, in float32 and
// float64.
//
// A [Plan] is made once for a length and holds all tables and scratch buffers, so a transform allocates
// nothing and writes no pointers. Real and imaginary parts are separate slices, because the rest of the
// signal code stores spectra as rows.
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
// Forward is the sum with exp(-2 pi i j k / n). [Real.Inverse] divides by n and inverts it;
// [Plan.InverseSum] does not divide. [Real.ForwardAdjoint] and [Real.InverseAdjoint] are the transposes
// that gradients need.
package fft
