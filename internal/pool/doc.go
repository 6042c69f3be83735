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
//  4. Nobody waits long for a thread that lost its processor in the middle of
//     a chunk. A waiter sees by the other's clock that it does not compute,
//     fetches it to its own processor and sleeps until the chunk is done
//     (seat.go).
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
// On Linux a worker sleeps on a futex. The wait is an ordinary system call to
// Go, not a raw one: a raw one would keep the worker's P, and with as many
// threads as GOMAXPROCS a server's goroutines would wait for the next section
// and a garbage collection for good. A channel does the same through Go's
// scheduler, which has to find an M for the woken goroutine: BenchmarkWake is
// 13 µs of the caller's time and 60 µs until the worker is there; with the
// futex 2 and 21. Elsewhere channels do.
//
// Workers own their threads, but the threads are bound to no processor. On an
// idle machine that gains nothing, since nobody moves them; on a busy one it
// takes from the system the choice it needs. Only after one had to be fetched
// is a worker kept off the caller's processor. Figures:
// docs/decisions/0005-threads.md.
package pool
