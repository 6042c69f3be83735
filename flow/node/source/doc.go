// Package source holds nodes that make signals from nothing but their
// parameters and the position in the stream.
//
//	LFO    slow waves: sine, saw, square, triangle, not band-limited
//	Noise  white, Gaussian or pink, from a seed and a counter
//
// A Noise is a pure function of seed, row and frame: the same stretch of it can
// be made again, for a backward sweep or on another machine, without its past.
// Neither has an adjoint.
package source
