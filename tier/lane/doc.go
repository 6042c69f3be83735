// Package lane executes tasks that depend on each other while bytes move.
//
//	io        ║ prefetch 2 ║ prefetch 3 ║ prefetch 4 ║      N readers
//	transfer  ║   move 1   ║   move 2   ║   move 3   ║
//	compute   ║ compute 0  ║ compute 1  ║ compute 2  ║      one a group of cores
//	device    ║                                       ║      work of a device
//
// A lane is a queue with goroutines of its own, all made by [New]. A task names
// the tasks that it comes after and joins its lane when they have ended, so the
// tasks form a graph without cycles. Nothing is allocated for a task and no
// goroutine is started: an [Executor] has a fixed window of them in flight and
// makes whoever submits wait.
//
// [Executor.Run] is a scope: it returns when all tasks submitted in it have
// ended, so whoever calls it gets its buffers back, whatever happened. The
// first error, a panic or the end of the context cancels what is running and
// skips the rest.
//
// A [Pipeline] is the graph of streamed weights: prefetch(i+1 … i+d), move,
// compute(i), with as many buffers as may be ahead; d follows from measured
// times.
//
// Every task that runs is two events, with times of the clock in the [Config].
// A [Meter] computes from them how much of the movement was hidden.
//
// With a [stream.Timeline] in the Config the same calls run one task after the
// other in the order of their submission and write the timeline's lines.
//
// executor.go is the file to read first.
package lane
