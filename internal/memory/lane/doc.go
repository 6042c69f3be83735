// Package lane executes interdependent tasks so that copies overlap with
// computation.
//
//	io        ║ prefetch 2 ║ prefetch 3 ║ prefetch 4 ║      N readers
//	transfer  ║   move 1   ║   move 2   ║   move 3   ║
//	compute   ║ compute 0  ║ compute 1  ║ compute 2  ║      one per group of cores
//	device    ║                                       ║      work of a device
//
// A lane is a queue with its own worker goroutines, all started by [New]. A task
// names the tasks it depends on and enters its lane when they have ended, so the
// tasks form an acyclic graph. Submitting allocates nothing and starts no
// goroutine: an [Executor] has a fixed window of tasks in flight, and submitters
// wait for a free slot (backpressure).
//
// [Executor.Run] is a scope: it returns when all tasks submitted in it have
// ended, so that the caller owns its buffers again in every case. The first
// error, a panic or the end of the context cancels the running tasks and skips
// the rest.
//
// [Executor.Open] is one without an end: a ring of streamed weights submits its
// reads to it for as long as it lives and looks after their errors itself. The
// goroutine of a step computes by itself, between [Executor.Enter] and
// [Executor.Leave].
//
// Every task that runs emits two events, timed by the clock in the [Config]. A
// [Meter] computes from them how much of the copying was hidden.
//
// With a [Timeline] in the Config the submissions are its lines, which
// are equal for equal submissions. Without workers beside it the same calls run
// the tasks one after the other, in the order of submission.
//
// executor.go is the file to read first.
//
// # The order as text
//
// A [Timeline] writes, as lines of text, in which order work is submitted
// and would run.
//
//	QueuedTask ──Submit──▶ Cpu, Gpu, SsdPrefetch ──Run──▶ lines ──▶ LineSink
//	                       three queues                    Lines
//
// A [Timeline] runs nothing; an [Executor] executes tasks. It writes one line
// when a task is submitted and one when it would run. The order depends on the
// submissions alone, so two runs can be compared as text. A timeline knows no
// dependencies: a move may be written before its prefetch.
//
//	ENQUEUE stream=SsdPrefetch id=1 kind=Io name=prefetch:w cost=1
//	ENQUEUE stream=Cpu id=2 kind=Transfer name=move:ssd->ram:w cost=1
//	ENQUEUE stream=Cpu id=3 kind=Compute name=matmul cost=1
//	RUN stream=Cpu id=2 kind=Transfer name=move:ssd->ram:w cost=1
//	RUN stream=SsdPrefetch id=1 kind=Io name=prefetch:w cost=1
//	RUN stream=Cpu id=3 kind=Compute name=matmul cost=1
package lane
