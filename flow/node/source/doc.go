// Package source holds nodes that generate signals from their parameters and
// the position in the stream alone.
//
//	LFO    slow waves: sine, saw, square, triangle, not band-limited
//	Noise  white, Gaussian or pink, from a seed and a counter
//
// A Noise is a pure function of seed, row and frame: any part of it can be
// generated again, for a backward sweep or on another machine, without what
// came before. Neither has an adjoint.
package source
