// Package fft has discrete Fourier transforms of any length, complex and real,
// in float32 and float64.
//
// A [Plan] is made once for a length and holds every table and every scratch
// buffer, so a transform allocates nothing and writes nothing but numbers.
// Real and imaginary parts are two slices, never pairs, because the rest of
// the signal code keeps its spectra as rows.
//
//	length                     method
//	2^a 3^b 5^c                Stockham, radices 4, 2, 3, 5 (no bit reversal)
//	anything else              Bluestein: a convolution of the next power of two
//	real, even                 the complex transform of half the length, unpacked
//	real, odd                  the complex transform, half of it thrown away
//
// One Stockham stage takes x[q + s(p + m j)], j < r, to y[q + s(r p + k)],
// k < r: the output of the last stage is in natural order.
//
//	    x ──► radix 4 ──► radix 4 ──► radix 5 ──► radix 5 ──► X      n = 400
//	s        1           4           16          80
//
// Forward is the sum with exp(-2 pi i j k / n). [Real.Inverse] divides by n and
// undoes it; [Plan.InverseSum] does not divide. [Real.ForwardAdjoint] and [Real.InverseAdjoint] are the
// transposes that gradients need.
package fft
