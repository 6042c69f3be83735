// Package pool runs work on a fixed set of threads, over and over, with a
// barrier that costs a fraction of a microsecond.
//
//	Pool     the caller's goroutine plus threads−1 long-lived workers
//	Task     work cut into one share per worker        → [Pool.Do]
//	Ranger   work over [0, n), cut into chunks         → [Pool.Range]
//
// A decode step is a few hundred short parallel sections with a barrier after
// each, so four things matter:
//
//  1. Starting and joining is a handful of atomic operations. Nothing is
//     allocated, no goroutine is started, no lock is taken.
//
//  2. Waiting is bounded. A waiter polls for about as long as parking and
//     waking would cost ([spinFor]), then parks. If other processes share the
//     cores, a barrier that spins on uses up the very time slice that its
//     partner needs to arrive: engines built that way become 40 times slower.
//
//  3. Nothing waits for a worker that has not started. Shares are claimed: a
//     worker claims its own when it sees the new generation, and the caller,
//     done with share 0, claims and runs each share still unclaimed. A worker
//     that is asleep, late or preempted does not help, but does not delay
//     either. In a [Pool.Range] idle workers also steal chunks.
//
//  4. A thread preempted in the middle of a chunk does not stall the others for
//     long. A waiter sees from its CPU clock that it is not running, moves it
//     to its own core and sleeps until the chunk is done (affinity.go).
//
//     generation g      caller                         worker i
//     ─────────────     ──────────────────────         ─────────────────────────
//     publish           task = t; gen = g ──────────▶  sees gen = g
//     claim             claimed[0]                     claimed[i]: g−1 → g
//     run               t.Run(0, n)                    t.Run(i, n)
//     help              claimed[j]: g−1 → g, Run(j,n)
//     join              waits until done[j] = g  ◀───  done[i] = g
//
// Because of claiming, several shares may run one after the other on one
// goroutine, so a share must not wait for another. What a share writes must not
// depend on the goroutine that runs it; then results are the same bytes for any
// number of threads that cut the work alike, and for Range, whose chunks vary,
// if each index is computed independently.
//
// On Linux a worker sleeps on a futex. The wait is an ordinary system call to
// Go, not a raw one: a raw one would keep the worker's P, and with as many
// threads as GOMAXPROCS a server's goroutines would wait for the next section,
// and a garbage collection forever. A channel does the same through Go's
// scheduler, which has to find an M for the woken goroutine: in BenchmarkWake a
// wake takes 13 µs of the caller's time and 60 µs until the worker runs; with
// the futex 2 and 21. Other systems use channels.
//
// Workers own their threads, but the threads are not pinned to processors. On an
// idle machine pinning gains nothing, because threads are not migrated; on a
// busy one it takes away a choice that the system needs. Only after a preempted
// worker had to be moved is it kept off the caller's core. Figures:
// docs/decisions/0005-threads.md.
package pool
