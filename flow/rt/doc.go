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
package rt
