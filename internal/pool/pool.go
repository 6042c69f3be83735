package pool

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// spinFor is how long a waiter polls before it parks: of the order of what a
// park and a wake cost together (BenchmarkWake), so that waiting costs no more
// than about twice the better choice, and far below a time slice (milliseconds),
// so that a partner off its core gets this one soon (BenchmarkShared).
const spinFor = 50 * time.Microsecond

// A Task is work in as many shares as the pool has workers.
type Task interface {
	// Run does one share. Do calls it exactly once for each worker in
	// [0, workers), on any goroutine of the pool; worker is an index under
	// which nobody else runs meanwhile, so scratch may hang on it. A share
	// must not wait for another share and must not use the pool.
	Run(worker, workers int)
}

// A Pool is a fixed set of threads. It belongs to one goroutine at a time:
// [Pool.Do] and [Pool.Range] must not overlap, nor be called from a task; they
// panic with a *[MisuseError] when they are. [Pool.Close] may come at any time
// from outside a task.
type Pool struct {
	task Task // of the current generation; written before gen
	busy atomic.Bool
	spin bool // whether polling can pay: there is a processor for each thread
	seat seating

	ranged rangeTask

	_       line
	gen     atomic.Uint64 // counts calls of Do; polled by every idle worker
	_       line
	parked  atomic.Int32 // workers asleep, or about to be
	bed     bed          // the caller's, in join
	overdue atomic.Bool  // a worker has waited long for the caller: it tells its thread from now on
	caller  thread
	fetched atomic.Int64 // how often a thread was fetched
	closed  atomic.Bool
	exited  sync.WaitGroup
	_       line

	shares []share // [threads]
}

// line keeps what one thread polls and what another writes on separate cache
// lines; two lines, because x86 fetches them in pairs.
type line [128]byte

// A share is one worker's place in the current generation, and the worker's bed.
type share struct {
	claimed atomic.Uint64 // latest generation somebody took this share in
	done    atomic.Uint64 // latest generation this share was finished in
	bed     bed
	thread  thread      // of the worker
	failed  *PanicError // what the share ended with; read after done
	_       line
}

// New starts a pool of the given number of threads, the caller's included;
// fewer than 1 counts as 1.
func New(threads int) *Pool {
	threads = max(threads, 1)
	p := &Pool{
		spin:   runtime.GOMAXPROCS(0) >= threads,
		shares: make([]share, threads),
	}
	p.seat.look(threads)
	p.bed.make()
	p.ranged.cursors = make([]cursor, threads)
	for i := 1; i < threads; i++ {
		p.shares[i].bed.make()
		p.exited.Go(func() { p.work(i) })
	}
	return p
}

// Threads returns the number of workers, the caller's goroutine included.
func (p *Pool) Threads() int { return len(p.shares) }

// Do runs every share of t and returns when all are done; what they wrote is
// then visible to the caller. If a share panics the others still finish, and
// Do panics with a *[PanicError]; the pool stays usable. After [Pool.Close]
// all shares run on the caller's goroutine.
func (p *Pool) Do(t Task) {
	p.begin()
	p.do(t, len(p.shares))
}

// begin makes sure that the caller is alone in the pool; join ends that.
func (p *Pool) begin() {
	if !p.busy.CompareAndSwap(false, true) {
		panic(&MisuseError{})
	}
}

// do runs t in n shares; n is 1 or all.
func (p *Pool) do(t Task, n int) {
	p.task = t
	if p.overdue.Load() {
		p.caller.sit()
	}
	g := p.gen.Load()
	if n > 1 {
		g++
		p.gen.Store(g)
		if p.parked.Load() > 0 {
			p.rouse()
		}
	}
	// Deferred, so that the workers are joined even if share 0 ends its
	// goroutine with runtime.Goexit.
	defer p.join(g, n)
	p.run(0, n)
}

// join runs the shares nobody claimed, waits for the others, ends the
// generation and passes on the first panic.
func (p *Pool) join(g uint64, n int) {
	for i := 1; i < n; i++ {
		if s := &p.shares[i]; s.claimed.CompareAndSwap(g-1, g) {
			p.seat.reseat(&s.thread)
			p.run(i, n)
			s.done.Store(g)
		}
	}
	for i := 1; i < n; i++ {
		p.await(&p.shares[i], g)
	}
	var first *PanicError
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

// await returns when s is done with generation g. Any worker that finishes
// wakes a sleeping caller, which looks again at the one it waits for.
func (p *Pool) await(s *share, g uint64) {
	for !p.poll(&s.done, g-1, spinFor) {
		fetched := false
		switch p.watch(&s.thread, &s.done, g-1) {
		case changed:
			return
		case stalled:
			fetched = p.fetch(&s.thread)
		}
		p.bed.lie()
		if s.done.Load() == g {
			p.bed.rise()
		} else {
			p.bed.sleep()
		}
		if fetched {
			p.seat.shoo(&s.thread)
		}
	}
}

// poll reports whether word moved on from old within d, or at once where
// threads must take turns on a processor and spinning is worth nothing.
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
		// The clock is read only by waits that last.
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

// work is the life of worker i > 0.
func (p *Pool) work(i int) {
	// Never unlocked: the thread ends with the goroutine.
	runtime.LockOSThread()
	s := &p.shares[i]
	s.thread.sit()
	var g uint64
	// Not reached by returning from a task means that a share called Goexit:
	// the generation must end and the worker must have a successor.
	inTask := false
	defer func() {
		if inTask {
			p.exited.Go(func() { p.work(i) })
			p.finish(s, g)
		}
	}()
	for p.next(s, &g) {
		// The claim fails if the caller took the share, whichever generation
		// we are at: claimed is then at least g.
		if s.claimed.CompareAndSwap(g-1, g) {
			inTask = true
			p.run(i, len(p.shares))
			inTask = false
			p.finish(s, g)
		}
	}
}

// finish marks s done and wakes the caller if it sleeps.
func (p *Pool) finish(s *share, g uint64) {
	s.done.Store(g)
	p.bed.wake()
}

// next waits for a generation after *g and stores it there; false means that
// the pool closed.
func (p *Pool) next(s *share, g *uint64) bool {
	last := *g
	for {
		if p.closed.Load() {
			return false
		}
		if *g = p.gen.Load(); *g != last {
			return true
		}
		if p.poll(&p.gen, last, spinFor) || p.awaitCaller(s, last) {
			continue
		}
		// Sleep. Sequentially consistent atomics: either we see the new
		// generation here, or rouse, which runs after it is stored, sees us.
		p.parked.Add(1)
		s.bed.lie()
		if p.gen.Load() != last || p.closed.Load() {
			s.bed.rise()
		} else {
			s.bed.sleep()
		}
		p.parked.Add(-1)
	}
}

// rouse wakes every sleeping worker.
func (p *Pool) rouse() {
	for i := 1; i < len(p.shares); i++ {
		p.shares[i].bed.wake()
	}
}

// Close ends the workers and returns when they are gone. Calling it again
// does nothing more. It must not be called from a task.
func (p *Pool) Close() {
	p.closed.Store(true)
	p.rouse()
	p.exited.Wait()
}
