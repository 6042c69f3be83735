package pool

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"atenia/internal/fault"
	"atenia/internal/machine/cpu"
)

// spinFor is how long a waiter polls before it parks: about the cost of a park
// and a wake (BenchmarkWake), so that waiting costs at most about twice the
// better choice, and far below a time slice (milliseconds), so that a preempted
// partner soon gets this core (BenchmarkShared).
const spinFor = 50 * time.Microsecond

// A Task is work in as many shares as the pool has workers.
type Task interface {
	// Run does one share. Do calls it exactly once for each worker in [0, workers),
	// on any goroutine of the pool. No two concurrent calls have the same worker,
	// so scratch memory can be indexed by it. A share must not wait for another
	// share and must not use the pool.
	Run(worker, workers int)
}

// A Pool is a fixed set of threads. It must be used by one goroutine at a time:
// [Pool.Do] and [Pool.Range] must neither overlap nor be called from a task;
// they panic with a *[misuseError] if they are. [Pool.Close] may be called at
// any time outside a task.
type Pool struct {
	task     Task // of the current generation; written before gen
	busy     atomic.Bool
	spin     bool // whether polling can pay: there is a processor for each thread
	affinity affinity

	ranged rangeTask

	_        line
	gen      atomic.Uint64 // counts calls of Do; polled by idle workers
	_        line
	parked   atomic.Int32 // workers asleep or about to sleep
	parker   parker       // the caller's, in join
	overdue  atomic.Bool  // a worker has waited long for the caller, which records its thread from now on
	caller   thread
	migrated atomic.Int64 // number of moves of preempted threads
	closed   atomic.Bool
	exited   sync.WaitGroup
	limit    atomic.Int32 // workers that take part; the others sleep, see [Pool.Limit]
	workers  int          // of the current generation; written before gen
	_        line

	shares []share // [threads]
}

// line separates what one thread polls from what another writes; two cache
// lines, because x86 prefetches them in pairs.
type line [128]byte

// A share is the state of one worker in the current generation.
type share struct {
	claimed atomic.Uint64 // latest generation in which the share was claimed
	done    atomic.Uint64 // latest generation in which the share was completed
	parker  parker
	thread  thread      // of the worker
	failed  *panicError // the share's panic; read after done
	_       line
}

// New starts a pool with the given number of threads, including the caller's;
// fewer than 1 counts as 1.
func New(threads int) *Pool {
	threads = max(threads, 1)
	p := &Pool{
		spin:   runtime.GOMAXPROCS(0) >= threads,
		shares: make([]share, threads),
	}
	p.limit.Store(int32(threads))
	p.affinity.look(threads)
	p.parker.make()
	p.ranged.cursors = make([]cursor, threads)
	for i := 1; i < threads; i++ {
		p.shares[i].parker.make()
		p.exited.Go(func() { p.work(i) })
	}
	return p
}

// Threads returns the number of workers, including the caller's goroutine.
func (p *Pool) Threads() int { return len(p.shares) }

// Limit lets only n of the workers take part from the next call on, the caller's
// among them: a neighbour that takes a core makes all threads wait for the one
// that shares it, and one thread less is faster then. The others sleep, without
// polling. n below 1 counts as 1, and more than [Pool.Threads] as that. Limit
// belongs to the goroutine that calls [Pool.Do]; scratch memory indexed by worker
// keeps its size.
func (p *Pool) Limit(n int) {
	n = max(1, min(n, len(p.shares)))
	old := int(p.limit.Load())
	if n == old {
		return
	}
	p.limit.Store(int32(n))
	for i := old; i < n; i++ {
		p.shares[i].parker.unpark()
	}
}

// Do runs every share of t and returns when all are done; their writes are then
// visible to the caller. If a share panics, the others still finish, and Do
// panics with a *[panicError]; the pool remains usable. After [Pool.Close] all
// shares run on the caller's goroutine.
func (p *Pool) Do(t Task) {
	p.begin()
	p.do(t, int(p.limit.Load()))
}

// begin ensures that no other call is running; join ends that.
func (p *Pool) begin() {
	if !p.busy.CompareAndSwap(false, true) {
		panic(&misuseError{})
	}
}

// do runs t in n shares; n is 1 or the limit.
func (p *Pool) do(t Task, n int) {
	p.task = t
	if p.overdue.Load() {
		p.caller.setCurrent()
	}
	g := p.gen.Load()
	if n > 1 {
		g++
		p.workers = n
		for i := n; i < len(p.shares); i++ {
			p.shares[i].claimed.Store(g) // a worker that wakes late finds nothing to claim
			p.shares[i].done.Store(g)    // the next call that it takes part in waits for it
		}
		p.gen.Store(g)
		if p.parked.Load() > 0 {
			p.rouse(n)
		}
	}
	// Deferred, so that the workers are joined even if share 0 ends its goroutine
	// with runtime.Goexit.
	defer p.join(g, n)
	p.run(0, n)
}

// join runs the unclaimed shares, waits for the others, ends the generation and
// propagates the first panic.
func (p *Pool) join(g uint64, n int) {
	for i := 1; i < n; i++ {
		if s := &p.shares[i]; s.claimed.CompareAndSwap(g-1, g) {
			p.affinity.update(&s.thread)
			p.run(i, n)
			s.done.Store(g)
		}
	}
	for i := 1; i < n; i++ {
		p.await(&p.shares[i], g)
	}
	var first *panicError
	for i := range n {
		if s := &p.shares[i]; s.failed != nil {
			if first == nil {
				first = s.failed
			}
			s.failed = nil
		}
	}
	p.task = nil
	p.busy.Store(false)
	if first != nil {
		panic(first)
	}
}

// await returns when s is done with generation g. Any worker that finishes wakes
// a sleeping caller, which then checks again the share it waits for.
func (p *Pool) await(s *share, g uint64) {
	for !p.poll(&s.done, g-1, spinFor) {
		migrated := false
		switch p.watch(&s.thread, &s.done, g-1) {
		case changed:
			return
		case stalled:
			migrated = p.migrate(&s.thread)
		}
		p.parker.prepare()
		if s.done.Load() == g {
			p.parker.cancel()
		} else {
			p.parker.park()
		}
		if migrated {
			p.affinity.avoid(&s.thread)
		}
	}
}

// poll reports whether word changed from old within d. It returns at once if
// threads share a processor and spinning is pointless.
func (p *Pool) poll(word *atomic.Uint64, old uint64, d time.Duration) bool {
	if word.Load() != old {
		return true
	}
	if !p.spin {
		return false
	}
	var start time.Time
	for {
		for range 32 {
			pause(1)
			if word.Load() != old {
				return true
			}
		}
		// Short waits do not read the clock.
		if start.IsZero() {
			start = time.Now()
		} else if time.Since(start) > d {
			return false
		}
	}
}

// run does share i on this goroutine and keeps its panic for join.
func (p *Pool) run(i, n int) {
	ok := false
	defer func() {
		if !ok {
			p.shares[i].failed = recovered(i, recover())
		}
	}()
	p.task.Run(i, n)
	ok = true
}

// work is the loop of worker i > 0.
func (p *Pool) work(i int) {
	// Never unlocked: the thread ends with the goroutine.
	runtime.LockOSThread()
	cpu.BeginThread()
	fault.Trap() // weights are mapped files
	s := &p.shares[i]
	s.thread.setCurrent()
	var g uint64
	// If the goroutine ends during a task, the share called Goexit: the generation
	// must be completed and the worker replaced.
	inTask := false
	defer func() {
		cpu.EndThread()
		if inTask {
			p.exited.Go(func() { p.work(i) })
			p.finish(s, g)
		}
	}()
	for p.next(i, s, &g) {
		// The claim fails if the caller took the share in this generation or a later
		// one: claimed is then at least g.
		if s.claimed.CompareAndSwap(g-1, g) {
			inTask = true
			p.run(i, p.workers)
			inTask = false
			p.finish(s, g)
		}
	}
}

// finish marks s done and wakes the caller if it sleeps.
func (p *Pool) finish(s *share, g uint64) {
	s.done.Store(g)
	p.parker.unpark()
}

// next waits for a generation after *g in which worker i may take part and stores
// it there; it returns false if the pool is closed.
func (p *Pool) next(i int, s *share, g *uint64) bool {
	last := *g
	for {
		if p.closed.Load() {
			return false
		}
		if i >= int(p.limit.Load()) {
			s.parker.prepare()
			if i < int(p.limit.Load()) || p.closed.Load() {
				s.parker.cancel()
			} else {
				s.parker.park()
			}
			continue
		}
		if *g = p.gen.Load(); *g != last {
			return true
		}
		if p.poll(&p.gen, last, spinFor) || p.awaitCaller(s, last) {
			continue
		}
		// With sequentially consistent atomics, either this worker sees the new
		// generation here, or rouse, which runs after it is stored, sees this worker.
		p.parked.Add(1)
		s.parker.prepare()
		if p.gen.Load() != last || p.closed.Load() {
			s.parker.cancel()
		} else {
			s.parker.park()
		}
		p.parked.Add(-1)
	}
}

// rouse wakes the sleepers among the first n workers.
func (p *Pool) rouse(n int) {
	for i := 1; i < n; i++ {
		p.shares[i].parker.unpark()
	}
}

// Close ends the workers and waits for them. It may be called more than once,
// but not from a task.
func (p *Pool) Close() {
	p.closed.Store(true)
	p.rouse(len(p.shares))
	p.exited.Wait()
}
