// Package rt runs a flow graph in real time: one block at a time, each when it
// is due, on a thread that neither Go's scheduler nor its garbage collector
// can hold up.
//
//	host (goroutines)              rings                real-time thread
//	────────────────────────       ─────────────        ─────────────────────────
//	Player.Put("in", block)   ──▶  Ring of an input ──▶ sleep until the block is due
//	                                                    fill the inputs
//	                                                    the session's step
//	Player.Get("out", block)  ◀──  Ring of a probe  ◀── empty the probes
//	Loop.Wait() → Report      ◀──  counters             late? skip what was missed
//
// # One code, two executors
//
// A goroutine cannot be an audio thread. After it slept it needs a P, and
// where all are busy it waits behind slices of ten milliseconds; while it
// computes it can be preempted; no priority of its thread helps against either.
// Here the thread enters one call that looks to Go like a call of a C function
// and does not return until the stream ends. It holds no P, so nobody waits
// for it and it waits for nobody. Inside that call runs Go code: the session's
// step, the same function that the throughput executor calls, so both give the
// same bits.
//
// Code that runs there must not allocate, write a pointer into memory, take a
// lock, use a channel, defer or panic. The step of a session (package flow)
// and the nodes shipped (flow/node) keep to that; so do C nodes that declare
// themselves safe for real time. [New] takes any function that does.
//
// # Being late
//
// A block that ends after the next one was due is late. The periods that went
// by are skipped, so that one slow block costs silence once and not a growing
// delay; [Report] counts both, and keeps histograms of how late the thread
// woke and of how long it computed. An input whose ring is empty reads zeros
// and an output whose ring is full is dropped; both are counted per port.
//
// With SCHED_FIFO (see [Config.Priority]) the thread comes before everything
// of ordinary priority. It sleeps between blocks; a loop without a clock never
// gets that priority, since it would not sleep at all.
//
// Numbers too small for a normal float are flushed to zero on the thread, as
// they are in the throughput executor, because recursive filters decay into
// them and the processor is then twenty times slower.
package rt
