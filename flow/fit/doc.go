// Package fit optimizes the parameters of a graph to minimize a loss of its
// outputs, by exact gradients and Adam.
//
//	parameters ──▶ graph ──▶ probes' streams ──▶ Loss ──▶ a number
//	     ▲                                          │
//	     │                                          │ derivatives by every frame
//	     └── Adam ◀── gradients of parameters ◀── backward sweep of the whole stream
//
// A [Problem] is a plan, streams for its inputs, a [Loss] and the free
// parameters, which form one vector. A parameter that must stay positive, such
// as a frequency, is optimized by its logarithm, so that a step is a ratio
// ([Param.Positive]).
//
// [Problem.Check] compares every derivative with a central difference.
package fit
