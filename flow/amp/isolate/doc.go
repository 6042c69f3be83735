// Package isolate runs libraries of C nodes in separate processes. A node that
// crashes or hangs then costs its graph a few muted blocks, and the host keeps
// running.
//
//	host                     shared memory (memfd)            child, one a library
//	instance.Forward ──────▶ inputs, parameters ────────────▶ the same node, in process
//	                         request word ──futex──▶
//	waits, with a limit ◀──futex── response word
//	outputs, heat, delay ◀── outputs ◀────────────────────── snapshot after each call
//	Start, instances ──────▶ control pipe, JSON lines ──────▶
//
//	                         ┌── answer in time ──▶ running
//	running ── request ──────┤
//	   ▲                     ├── none in time ─▶ Timeout; three in a row ─▶ suspended
//	   │                     └── child is gone ─▶ Crashed
//	   └── new child, or the spare, with the last snapshots ◀── at once, then after
//	       100 ms; three crashes in 60 s ─▶ quarantined
//
// The child is the program itself, started with [Config].Command, which must
// end up in [Serve]. One request carries any number of calls ([Batch]), so that
// a child costs one round trip per block however many of its nodes are in the
// graph.
//
// A request allocates nothing and takes no Go lock, so that it may be made on a
// thread without a P. A child is not a sandbox: it may read whatever the user
// may read. It contains faults, not malice.
//
// All of this needs Linux on amd64 or arm64.
package isolate
