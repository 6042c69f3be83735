// Package native runs a Go function on a thread that Go's scheduler has let
// go of: on the system stack, inside what the runtime takes for a call of a C
// function.
//
//	goroutine ── Run(f) ─▶ runtime.cgocall ─▶ entry (assembly) ─▶ f
//	                       the thread gives its P away            on g0's stack
//
// Nothing in the process can then hold f up. A garbage collection does not
// wait for the thread, since it looks like one in a system call; the scheduler
// cannot preempt it, since it runs on no goroutine's stack; and f waits for no
// P after it slept, since it slept without one. That is what a C function has
// in a Go program, and here a Go function has it, so a block of a flow graph
// runs in real time with the very code, and the very bits, that it runs with
// elsewhere.
//
// The price is that f lives by the rules of the runtime's own code on the
// system stack:
//
//   - it does not allocate (the allocator's caches belong to the P),
//   - it writes no pointer into memory, neither Go's nor any other: while a
//     collection marks, such a write goes through a buffer of the P. Numbers
//     may be written anywhere, pointers only to local variables,
//   - it takes no lock, sends on no channel, starts no goroutine, does not
//     defer, and does not panic.
//
// What f reads must be kept alive by someone else: the system stack is no root
// of a collection. Run keeps f itself alive.
//
// Without the C library's threads (-tags static), on other systems than Linux
// and under the race detector, which instruments f with calls that need a
// goroutine, [Supported] is false and Run calls f on the caller's goroutine.
package native
