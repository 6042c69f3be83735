package pool

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"atenia/internal/golden/await"
)

// taskFunc and rangeFunc let a test write its work in place.
type taskFunc func(worker, workers int)

func (f taskFunc) Run(worker, workers int) { f(worker, workers) }

type rangeFunc func(worker, lo, hi int)

func (f rangeFunc) Range(worker, lo, hi int) { f(worker, lo, hi) }

func newPool(t testing.TB, threads int) *Pool {
	p := New(threads)
	t.Cleanup(p.Close)
	return p
}

func TestDoRunsEveryShareOnce(t *testing.T) {
	for _, threads := range []int{-1, 1, 2, 3, 4, 17} {
		p := newPool(t, threads)
		n := max(threads, 1)
		if p.Threads() != n {
			t.Fatalf("Threads() = %d, want %d", p.Threads(), n)
		}
		runs := make([]int, n) // plain ints: the race detector checks the join
		for round := range 500 {
			p.Do(taskFunc(func(worker, workers int) {
				if workers != n {
					t.Errorf("workers = %d, want %d", workers, n)
				}
				runs[worker]++
			}))
			for i, r := range runs {
				if r != round+1 {
					t.Fatalf("threads %d round %d: share %d ran %d times", threads, round, i, r)
				}
			}
		}
	}
}

// hold returns when ok is true, and allocates nothing. Shares wait so for each other; one
// that waits for ever ends with the test's deadline, which prints where.
func hold(ok func() bool) {
	for n := 0; !ok(); n++ {
		if n < 100 { // it is often less than a sleep
			runtime.Gosched()
		} else { // and leaves a busy machine to the others
			time.Sleep(20 * time.Microsecond)
		}
	}
}

// toil takes d of the clock's time without sleeping.
func toil(d time.Duration) {
	begin := time.Now()
	hold(func() bool { return time.Since(begin) >= d })
}

// Shares that take their time are waited for, spinning and parked.
func TestDoWaits(t *testing.T) {
	p := newPool(t, 3)
	for _, d := range []time.Duration{0, time.Microsecond, 20 * time.Microsecond, 200 * time.Microsecond, 3 * time.Millisecond} {
		for slow := range 3 {
			for range 10 {
				sum := [3]int{}
				var began atomic.Int32
				p.Do(taskFunc(func(worker, _ int) {
					// Share 0 lets the others begin, else the caller would run them all.
					if began.Add(1); worker == 0 {
						hold(func() bool { return began.Load() == 3 })
					}
					if worker == slow {
						toil(d)
					}
					sum[worker] = worker + 1
				}))
				if sum != [3]int{1, 2, 3} {
					t.Fatalf("sleep %v in share %d: got %v", d, slow, sum)
				}
			}
		}
	}
}

// A worker that sleeps is woken: share 1 does begin while share 0 still runs.
func TestParkedWorkerIsWoken(t *testing.T) {
	p := newPool(t, 2)
	for range 5 {
		waitParked(p, 1)
		var began atomic.Bool
		p.Do(taskFunc(func(worker, _ int) {
			if worker == 1 {
				began.Store(true)
				return
			}
			hold(began.Load) // for ever if worker 1 sleeps through its share
		}))
	}
}

// waitParked returns when as many workers are parked. It allocates nothing.
func waitParked(p *Pool, workers int32) {
	hold(func() bool { return p.parked.Load() == workers })
}

// An idle pool uses no processor time: all workers end up parked.
func TestIdleWorkersPark(t *testing.T) {
	p := newPool(t, 4)
	p.Do(taskFunc(func(int, int) {}))
	waitParked(p, 3)
}

func TestRangeCoversOnce(t *testing.T) {
	for _, threads := range []int{1, 2, 3, 8} {
		p := newPool(t, threads)
		for _, n := range []int{0, 1, 2, 15, 16, 17, 31, 32, 100, 257, 4096, 10007} {
			for _, grain := range []int{-1, 0, 1, 3, 16, 64, 5000} {
				hits := make([]int32, n)
				step := max(grain, 1)
				p.Range(n, grain, rangeFunc(func(worker, lo, hi int) {
					if worker < 0 || worker >= threads || lo >= hi || lo%step != 0 || hi%step != 0 && hi != n {
						t.Errorf("n %d grain %d threads %d: chunk [%d,%d) on worker %d", n, grain, threads, lo, hi, worker)
						return
					}
					for i := lo; i < hi; i++ {
						hits[i]++
					}
				}))
				for i, h := range hits {
					if h != 1 {
						t.Fatalf("n %d grain %d threads %d: index %d done %d times", n, grain, threads, i, h)
					}
				}
			}
		}
	}
}

func TestRangeHugeDoesNotOverflow(t *testing.T) {
	p := newPool(t, 2)
	const n = int(^uint(0) >> 1)
	var sum atomic.Uint64
	p.Range(n, 1<<40, rangeFunc(func(_, lo, hi int) { sum.Add(uint64(hi - lo)) }))
	if sum.Load() != uint64(n) {
		t.Fatalf("covered %d of %d", sum.Load(), n)
	}
}

// While one worker is stuck in its first chunk the other takes the rest.
func TestRangeStealing(t *testing.T) {
	p := newPool(t, 2)
	var chunks [2]atomic.Int32
	total := int32(2 * chunksPerShare)
	p.Range(int(total)*10, 10, rangeFunc(func(worker, lo, hi int) {
		chunks[worker].Add(1)
		if worker == 0 && chunks[0].Load() == 1 {
			hold(func() bool { return chunks[1].Load() == total-1 })
		}
	}))
	if a, b := chunks[0].Load(), chunks[1].Load(); a != 1 || b != total-1 {
		t.Fatalf("worker 0 did %d chunks, worker 1 did %d, want 1 and %d", a, b, total-1)
	}
}

func TestPanicReachesCaller(t *testing.T) {
	cause := errors.New("boom")
	for threads := 1; threads <= 4; threads++ {
		p := newPool(t, threads)
		for bad := range threads {
			for round := range 20 {
				var began, done atomic.Int32
				err := catch(func() {
					p.Do(taskFunc(func(worker, _ int) {
						if began.Add(1); round%2 == 0 { // each on its own thread
							hold(func() bool { return int(began.Load()) == threads })
						}
						if worker == bad {
							panic(cause)
						}
						done.Add(1)
					}))
				})
				var pe *panicError
				if !errors.As(err, &pe) || pe.Worker != bad || !errors.Is(err, cause) || len(pe.Stack) == 0 {
					t.Fatalf("threads %d bad %d: got %v", threads, bad, err)
				}
				if int(done.Load()) != threads-1 {
					t.Fatalf("threads %d: %d other shares finished", threads, done.Load())
				}
			}
		}
		var ok atomic.Int32
		p.Do(taskFunc(func(int, int) { ok.Add(1) }))
		if int(ok.Load()) != threads {
			t.Fatalf("after panics %d of %d shares ran", ok.Load(), threads)
		}
		err := catch(func() { p.Range(100, 1, rangeFunc(func(_, lo, _ int) { panic(fmt.Sprint(lo)) })) })
		if pe := (*panicError)(nil); !errors.As(err, &pe) {
			t.Fatalf("Range: got %v", err)
		}
	}
}

// catch returns the error that f panics with.
func catch(f func()) (err error) {
	defer func() { err, _ = recover().(error) }()
	f()
	return nil
}

// A share that ends its goroutine, as t.FailNow does, is reported, and the
// worker has a successor.
func TestGoexit(t *testing.T) {
	p := newPool(t, 2)
	for range 3 {
		var began atomic.Bool
		err := catch(func() {
			p.Do(taskFunc(func(worker, _ int) {
				if worker == 1 {
					began.Store(true)
					runtime.Goexit()
				}
				for !began.Load() {
					runtime.Gosched()
				}
			}))
		})
		if !errors.Is(err, errGoexit) {
			t.Fatalf("got %v", err)
		}
	}
	// In the caller's share it ends the caller, after the join.
	var wg sync.WaitGroup
	wg.Go(func() {
		defer func() { _ = recover() }()
		p.Do(taskFunc(func(worker, _ int) {
			if worker == 0 {
				runtime.Goexit()
			}
		}))
	})
	wg.Wait()
	p.Do(taskFunc(func(int, int) {}))
}

func TestMisuse(t *testing.T) {
	p := newPool(t, 2)
	for name, nested := range map[string]func(){
		"Do":    func() { p.Do(taskFunc(func(int, int) {})) },
		"Range": func() { p.Range(10, 1, rangeFunc(func(int, int, int) {})) },
	} {
		err := catch(func() {
			p.Do(taskFunc(func(worker, _ int) {
				if worker == 0 {
					nested()
				}
			}))
		})
		var me *misuseError
		if !errors.As(err, &me) {
			t.Errorf("%s in a task: got %v", name, err)
		}
	}
}

func TestClose(t *testing.T) {
	gone := await.Goroutines(t)
	p := New(4)
	p.Do(taskFunc(func(int, int) {}))
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(p.Close)
	}
	wg.Wait()
	p.Close()
	gone()    // they have left the pool; the runtime may take a moment more
	runs := 0 // unsynchronized: all on this goroutine
	p.Do(taskFunc(func(int, int) { runs++ }))
	if runs != 4 {
		t.Fatalf("%d shares ran after Close, want 4", runs)
	}
}

func TestCloseWhileRunning(t *testing.T) {
	for range 200 {
		p := New(3)
		var wg sync.WaitGroup
		wg.Go(p.Close)
		for range 20 {
			var n atomic.Int32
			p.Do(taskFunc(func(int, int) { n.Add(1) }))
			if n.Load() != 3 {
				t.Fatalf("%d shares ran", n.Load())
			}
		}
		wg.Wait()
	}
}

func TestOneProcessor(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	p := newPool(t, 3)
	var n int32
	for range 1000 {
		p.Do(taskFunc(func(int, int) { atomic.AddInt32(&n, 1) }))
	}
	if n != 3000 {
		t.Fatalf("%d shares ran, want 3000", n)
	}
	p.Range(1000, 1, rangeFunc(func(_, lo, hi int) { atomic.AddInt32(&n, int32(hi-lo)) }))
	if n != 4000 {
		t.Fatalf("%d, want 4000", n)
	}
}

// Work is done once whatever becomes of the number of processors meanwhile.
func TestProcessorsChange(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	p := newPool(t, 4)
	var changes, rounds atomic.Int32
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range 100 {
			runtime.GOMAXPROCS(1 + i%5)
			changes.Add(1)
			begun := rounds.Load()
			hold(func() bool { return rounds.Load() > begun || i == 99 })
		}
	})
	for round := 0; changes.Load() < 100; round++ {
		var sum atomic.Int64
		p.Range(1000, 3, rangeFunc(func(_, lo, hi int) { sum.Add(int64(hi - lo)) }))
		if sum.Load() != 1000 {
			t.Fatalf("round %d: %d of 1000 indices", round, sum.Load())
		}
		rounds.Add(1)
	}
	wg.Wait()
}

// A worker that sleeps holds up neither garbage collections nor goroutines.
func TestSleepersDoNotBlockOthers(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	p := newPool(t, 4)
	for range 20 {
		p.Do(taskFunc(func(int, int) {}))
		waitParked(p, 3)
		done := make(chan struct{})
		go func() { runtime.GC(); close(done) }()
		<-done
	}
}

// Sections start no goroutine.
func TestNoGoroutines(t *testing.T) {
	p := newPool(t, 3)
	f := &struct{ nothing }{}
	n := await.Started(func() {
		for range 1000 {
			p.Do(f)
			p.Range(4096, 16, f)
		}
	})
	if n != 0 {
		t.Errorf("2000 sections started %d goroutines", n)
	}
}

type nothing struct{}

func (nothing) Run(int, int)        {}
func (nothing) Range(int, int, int) {}

func TestNoAllocations(t *testing.T) {
	p := newPool(t, 2)
	f := &struct{ nothing }{}
	if n := await.Allocs(1000, func() { p.Do(f) }); n != 0 {
		t.Errorf("Do allocates %v times", n)
	}
	if n := await.Allocs(1000, func() { p.Range(4096, 16, f) }); n != 0 {
		t.Errorf("Range allocates %v times", n)
	}
	if n := await.Allocs(50, func() { waitParked(p, 1); p.Do(f) }); n != 0 {
		t.Errorf("Do with a parked worker allocates %v times", n)
	}
}

// work spins for about d without sleeping.
type work struct {
	d    time.Duration
	sink [2]line
}

func (w *work) Run(worker, _ int) {
	for start := time.Now(); time.Since(start) < w.d; {
		w.sink[worker][0]++
	}
}

// One empty section: publish, claim, join.
func BenchmarkDo(b *testing.B) {
	for _, threads := range []int{1, 2, 4} {
		b.Run(fmt.Sprintf("threads=%d", threads), func(b *testing.B) {
			p, f := newPool(b, threads), &struct{ nothing }{}
			for b.Loop() {
				p.Do(f)
			}
		})
	}
}

// The two halves of a barrier, as medians, which other load on the machine
// hardly moves: from Do to the worker's first instruction, and from the end of
// the last share to Do's return.
func BenchmarkBarrier(b *testing.B) {
	for _, d := range []time.Duration{2 * time.Microsecond, 20 * time.Microsecond} {
		b.Run(fmt.Sprintf("work=%v", d), func(b *testing.B) {
			p := newPool(b, 2)
			w := &work{d: d}
			var ends [2]time.Time
			var began time.Time
			f := taskFunc(func(worker, workers int) {
				if worker == 1 {
					began = time.Now()
				}
				w.Run(worker, workers)
				ends[worker] = time.Now()
			})
			var begin, join []time.Duration
			for b.Loop() {
				start := time.Now()
				p.Do(f)
				end := time.Now()
				if took := began.Sub(start); took < d { // else the caller ran both
					begin = append(begin, took)
					join = append(join, min(end.Sub(ends[0]), end.Sub(ends[1])))
				}
			}
			b.ReportMetric(median(begin), "begin-ns")
			b.ReportMetric(median(join), "join-ns")
			b.ReportMetric(100*float64(len(begin))/float64(b.N), "%parallel")
		})
	}
}

func median(x []time.Duration) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	slices.Sort(x)
	return float64(x[len(x)/2])
}

func BenchmarkRange(b *testing.B) {
	p, f := newPool(b, 2), &struct{ nothing }{}
	for b.Loop() {
		p.Range(4096, 16, f)
	}
}

// A section that finds its worker asleep while the caller was busy, as after
// sampling a token: what waking takes from the caller, and when the worker
// arrives.
func BenchmarkWake(b *testing.B) {
	p := newPool(b, 2)
	var start time.Time
	var began atomic.Bool
	var wake, arrive []time.Duration
	f := taskFunc(func(worker, _ int) {
		if worker == 1 {
			arrive = append(arrive, time.Since(start))
			began.Store(true)
			return
		}
		wake = append(wake, time.Since(start))
		for !began.Load() {
			pause(1)
		}
	})
	for b.Loop() {
		for start = time.Now(); p.parked.Load() == 0 || time.Since(start) < 300*time.Microsecond; {
			pause(1)
		}
		began.Store(false)
		start = time.Now()
		p.Do(f)
	}
	b.ReportMetric(median(wake), "wake-ns")
	b.ReportMetric(median(arrive), "arrive-ns")
}

// hogEnv makes the test binary a process that only burns time.
const hogEnv = "ATENIA_POOL_HOG"

func TestMain(m *testing.M) {
	if os.Getenv(hogEnv) != "" {
		for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		}
		return
	}
	os.Exit(m.Run())
}

// hogs starts processes that keep n processors busy until the test ends.
func hogs(t testing.TB, n int) {
	for range n {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), hogEnv+"=1")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	}
}

// Sections of a decode step, alone and beside busy processes: one section is
// 64 chunks of 2 µs. Sharing the cores with as many others should cost about
// half the speed.
func BenchmarkShared(b *testing.B) {
	for _, busy := range []int{0, 1, 2, 3} {
		for threads := 1; threads <= 2; threads++ {
			b.Run(fmt.Sprintf("busy=%d/threads=%d", busy, threads), func(b *testing.B) {
				hogs(b, busy)
				p, f := newPool(b, threads), &steps{}
				for b.Loop() {
					p.Range(64, 1, f)
				}
			})
		}
	}
}

// steps is a fixed amount of arithmetic per index, so that time lost to other
// processes counts.
type steps struct{ sink [64]line }

func (s *steps) Range(worker, lo, hi int) {
	x := uint64(lo)
	for range (hi - lo) * 2000 {
		x = x*6364136223846793005 + 1442695040888963407
	}
	s.sink[worker][0] = byte(x)
}

// Beside two busy processes two threads must not fall far behind one: a
// barrier that spins away its partner's time slice is 40 times slower.
func TestSharedMachine(t *testing.T) {
	if testing.Short() || await.Race {
		t.Skip("timing")
	}
	hogs(t, runtime.NumCPU())
	rate := func(threads int) float64 {
		p, f := newPool(t, threads), &steps{}
		n := 0
		start := time.Now()
		for time.Since(start) < 200*time.Millisecond {
			p.Range(64, 1, f)
			n++
		}
		return float64(n) / time.Since(start).Seconds()
	}
	// Other load on the machine can spoil measurements; a collapse spoils all.
	await.Until(t, "two threads at a quarter of the speed of one, on a shared machine", func() bool {
		one, two := rate(1), rate(2)
		t.Logf("sections/s beside busy processes: 1 thread %.0f, 2 threads %.0f", one, two)
		return two > one/4
	})
}
