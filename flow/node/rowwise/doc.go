// Package rowwise runs nodes that treat every row (a channel of a batch) by
// itself, carrying a few numbers from frame to frame: recursive filters,
// followers, waveshapers.
//
// A [Kernel] is written for one row; the rest is here:
//
//	per row            Kernel.Forward, Kernel.Backward
//	over the rows      calls, snapshots, resets, reports
//	of parameters      broadcasting ([Values]), sums in an order that no cut changes
//
// A backward call runs the row again from the state before it, keeps what the
// derivative looks at in scratch rows, and then goes from the last frame to the
// first:
//
//	state0, x ──► y, scratch            frames 0 … n-1
//	dy, adjoint state ──► dx, dp        frames n-1 … 0
package rowwise
