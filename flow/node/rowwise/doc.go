// Package rowwise implements nodes that treat every row (a channel of a batch)
// independently, carrying a few numbers from frame to frame: recursive filters,
// followers, waveshapers.
//
// A [Kernel] is written for one row; this package does the rest:
//
//	per row            Kernel.Forward, Kernel.Backward
//	over the rows      calls, snapshots, resets, reports
//	for parameters     broadcasting ([Values]), sums in an order that no cut changes
//
// A backward call recomputes the row from the state before it, keeps what the
// derivative reads in scratch rows, and then goes from the last frame to the
// first:
//
//	state0, x ──► y, scratch            frames 0 … n-1
//	dy, adjoint state ──► dx, dp        frames n-1 … 0
package rowwise
