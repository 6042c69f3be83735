// Package fit finds the parameters of a graph that make its outputs what they
// should be: by the exact gradient of a loss, and Adam.
//
//	parameters ──▶ graph ──▶ what probes took ──▶ Loss ──▶ a number
//	     ▲                                          │
//	     │                                          │ derivatives by every frame
//	     └── Adam ◀── gradients of parameters ◀── backward sweep of the whole stream
//
// A [Problem] is a plan, streams for its inputs, a [Loss] and the parameters that
// may change; its numbers are one vector. A parameter that must stay positive,
// such as a frequency, is stepped by its logarithm, so that a step is a ratio
// ([Param.Positive]).
//
// [Problem.Check] compares every derivative with a central difference.
package fit
