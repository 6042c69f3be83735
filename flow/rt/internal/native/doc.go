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
package native
