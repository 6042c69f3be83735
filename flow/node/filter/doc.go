// Package filter holds filters: recursive ones with a few coefficients, and
// short and long FIR filters.
//
//	SVF        state-variable filter, trapezoidal: stays stable while its frequency moves
//	OnePole    first-order lowpass
//	DCBlock    first-order highpass at a few Hz
//	FIR        taps, direct; with method partitioned by Fourier transform
//	Convolver  long taps (rooms, cabinets), by Fourier transform, without latency
//
// All of them accept one value of a parameter for the whole stream or one per
// frame, except for taps, which are tables. Every type has an exact adjoint.
//
// A partitioned convolution computes the first partition directly and the
// others as products of spectra of blocks, which are aligned to the stream, not
// to the calls:
//
//	y[n] = Σ h[k] x[n-k]                     k < P      per frame
//	     + IFFT( Σ_j H_j X_{b-j} )[n - bP]   j >= 1     once a block b of P frames
package filter
