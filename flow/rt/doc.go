// Package rt runs a flow graph in real time: one block at a time, each by its
// deadline, on a thread that is not subject to Go's scheduler or garbage
// collector.
//
//	host (goroutines)              rings                real-time thread
//	────────────────────────       ─────────────        ─────────────────────────
//	Player.Put("in", block)   ──▶  Ring of an input ──▶ sleep until the block is due
//	                                                    fill the inputs
//	                                                    the session's step
//	Player.Get("out", block)  ◀──  Ring of a probe  ◀── empty the probes
//	Loop.Wait() → Report      ◀──  counters             late? skip missed periods
//
// A [Player] connects a session's inputs and probes to lock-free rings, one
// [Ring] each, which goroutines fill and empty. A [Loop] is the thread alone: it
// calls any function once a period. [Config] sets period, priority and whether
// memory is locked; a [Report] says what the run achieved.
//
// # Missed deadlines
//
// A block that ends after the next one was due is late (an xrun). The periods
// that passed are skipped, so that a slow block costs silence once and not a
// growing delay; [Report] counts both, and keeps histograms of wake-up latency
// and of computing time. An input whose ring is empty reads zeros (underrun),
// and a block for an output whose ring is full is dropped (overrun); both are
// counted per port.
//
// With SCHED_FIFO (see [Config] Priority) the thread preempts everything of
// ordinary priority. It sleeps between blocks; a loop without a clock never
// gets that priority, since it would not sleep at all.
//
// Denormals are flushed to zero on the thread, as in the throughput executor,
// because recursive filters decay into them and the processor is then up to
// twenty times slower.
//
// # Outside the scheduler
//
// A goroutine is unsuited as an audio thread. After a sleep it needs a P, and
// if all are busy it waits behind time slices of ten milliseconds; while it
// computes it can be preempted; no thread priority helps against either. A C
// function in a Go program has neither problem: it runs on the system stack of a
// thread that has given its P away. A loop runs a Go function the same way:
//
//	goroutine ── run(f) ─▶ runtime.cgocall ─▶ entry (assembly) ─▶ f
//	                       the thread releases its P              on g0's stack
//
// A garbage collection does not wait for the thread, which looks as if it were
// in a system call; the scheduler cannot preempt it, since it does not run on a
// goroutine's stack; and f does not wait for a P after sleeping, since it sleeps
// without one. f calls the session's step, the same function that the throughput
// executor calls, so both give the same bits.
//
// The price is that f must follow the rules of the runtime's own code on the
// system stack:
//
//   - it does not allocate: the allocator's caches belong to the P,
//   - it writes no pointer into memory, neither Go's nor any other: while a
//     collection marks, such a write goes through a buffer of the P. Numbers
//     may be written anywhere, pointers only to local variables,
//   - it takes no lock, sends on no channel, starts no goroutine, does not
//     defer, and does not panic.
//
// The step of a session (package flow) and the shipped nodes comply; so do C
// nodes that declare themselves safe for real time. [New] accepts any function
// that does. What f reads must be kept alive by its caller: the system stack is
// not a root of the garbage collector.
//
// Without the C library's threads (-tags static), on systems other than Linux,
// and under the race detector, which instruments f with calls that need a
// goroutine, the loop runs on an ordinary goroutine, and [Report] Native is
// false.
package rt
