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
// # Two executors, one step
//
// A goroutine is unsuited as an audio thread. After a sleep it needs a P, and
// if all are busy it waits behind time slices of ten milliseconds; while it
// computes it can be preempted; no thread priority helps against either. Here
// the thread enters one call that looks to the runtime like a call of a C
// function and does not return until the stream ends. It holds no P, so the
// runtime never waits for it, nor it for the runtime. Inside that call runs Go
// code: the session's step, the same function that the throughput executor
// calls, so both give the same bits.
//
// Code that runs there must not allocate, write a pointer into memory, take a
// lock, use a channel, defer or panic. The step of a session (package flow) and
// the shipped nodes (flow/node) comply; so do C nodes that declare themselves
// safe for real time. [New] accepts any function that does.
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
// With SCHED_FIFO (see [Config.Priority]) the thread preempts everything of
// ordinary priority. It sleeps between blocks; a loop without a clock never
// gets that priority, since it would not sleep at all.
//
// Denormals are flushed to zero on the thread, as in the throughput executor,
// because recursive filters decay into them and the processor is then up to
// twenty times slower.
//
// # Native
//
// Package native runs a Go function on a thread detached from Go's scheduler:
// on the system stack, inside what the runtime takes for a call of a C
// function.
//
//	goroutine ── Run(f) ─▶ runtime.cgocall ─▶ entry (assembly) ─▶ f
//	                       the thread releases its P              on g0's stack
//
// Nothing in the process can then delay f. A garbage collection does not wait
// for the thread, which looks as if it were in a system call; the scheduler
// cannot preempt it, since it does not run on a goroutine's stack; and f does
// not wait for a P after sleeping, since it sleeps without one. C functions in
// a Go program have these properties; here a Go function has them, so a block
// of a flow graph runs in real time with the same code, and the same bits, as
// elsewhere.
//
// The price is that f must follow the rules of the runtime's own code on the
// system stack:
//
//   - it does not allocate (the allocator's caches belong to the P),
//   - it writes no pointer into memory, neither Go's nor any other: while a
//     collection marks, such a write goes through a buffer of the P. Numbers
//     may be written anywhere, pointers only to local variables,
//   - it takes no lock, sends on no channel, starts no goroutine, does not
//     defer, and does not panic.
//
// What f reads must be kept alive by its caller: the system stack is not a root
// of the garbage collector. Run keeps f itself alive.
//
// Without the C library's threads (-tags static), on systems other than Linux,
// and under the race detector, which instruments f with calls that need a
// goroutine, [Supported] is false and Run calls f on the caller's goroutine.
package rt
