// Package pool runs one piece of work on a fixed set of threads, over and
// over, with a barrier that costs a fraction of a microsecond.
//
//	Pool     the caller's goroutine plus threads−1 long-lived workers
//	Task     work cut into one share per worker        → [Pool.Do]
//	Ranger   work over [0, n), cut into chunks         → [Pool.Range]
//
// A decode step is a few hundred short parallel sections with a barrier after
// each, so three things matter:
//
//  1. Starting and joining is a handful of atomic operations. Nothing is
//     allocated, no goroutine is started, no lock is taken.
//
//  2. Waiting is bounded. A waiter polls for about as long as parking and
//     waking would cost ([spinFor]), then parks. Where other processes share
//     the cores, a barrier that spins on spends the very time slice that its
//     partner needs to arrive: engines built so lose a factor of 40 there.
//
//  3. Nobody waits for a worker that has not begun. Shares are claimed: a
//     worker claims its own when it sees the new generation, and the caller,
//     done with share 0, claims and runs each share still unclaimed. A worker
//     that is asleep, late or off its core costs its help and no delay. In a
//     [Pool.Range] idle workers also take chunks of those that have begun.
//
//     generation g      caller                         worker i
//     ─────────────     ──────────────────────         ─────────────────────────
//     publish           task = t; gen = g ──────────▶  sees gen = g
//     claim             claimed[0]                     claimed[i]: g−1 → g
//     run               t.Run(0, n)                    t.Run(i, n)
//     help              claimed[j]: g−1 → g, Run(j,n)
//     join              waits until done[j] = g  ◀───  done[i] = g
//
// Claiming has a consequence for tasks: several shares may run one after the
// other on one goroutine, so a share must not wait for another. What a share
// writes must not depend on who runs it; then results are the same bytes for
// any number of threads that cut the work alike, and for Range, whose chunks
// fall anywhere, if each index is computed for itself.
//
// Threads are not bound to processors. Where all are busy the system tends to
// wake a worker on the caller's own, and two threads then run about as fast as
// one. Moving the worker away was tried: sections ran in parallel and half as
// long in the median, but waiting for a worker that had lost its processor in
// the middle of a share cost more than that won.
package pool
