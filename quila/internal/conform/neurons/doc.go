// Package neurons has the rows of the conformance suite about one neuron's tick:
// the receiver, the four streams, the steps that mix and clean, and the gradient.
//
//	receive.go   step 1: receiver's kernel, W_in, composite edges, residual
//	streams.go   step 4: attention, state space, recurrence, correction
//	mixing.go    steps 5 to 11: Sinkhorn, consistency, smoothing, order, noise
//	backward.go  gradients, and what they must not depend on
//	precision.go sums in single precision
//
// Oracles are loops over the formulas of the specification, in float64.
package neurons
