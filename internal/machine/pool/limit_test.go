package pool

import (
	"sync/atomic"
	"testing"
	"time"
)

// A limit holds from the next call on, in both directions, and each share runs
// once whatever the limit was before.
func TestLimit(t *testing.T) {
	const threads = 5
	p := newPool(t, threads)
	for round, n := range []int{5, 2, 2, 4, 1, 3, 5, 1, 5, 0, 9} {
		p.Limit(n)
		want := max(1, min(n, threads))
		for call := range 50 {
			runs := make([]int, threads)
			p.Do(taskFunc(func(worker, workers int) {
				if workers != want {
					t.Errorf("%d workers, want %d", workers, want)
				}
				runs[worker]++
			}))
			var sum atomic.Int64
			p.Range(1000, 3, rangeFunc(func(worker, lo, hi int) {
				if worker >= want {
					t.Errorf("round %d: worker %d of %d", round, worker, want)
				}
				sum.Add(int64(hi - lo))
			}))
			for i, r := range runs {
				if i < want && r != 1 || i >= want && r != 0 {
					t.Fatalf("round %d, call %d: %v with a limit of %d", round, call, runs, want)
				}
			}
			if sum.Load() != 1000 {
				t.Fatalf("round %d: %d indices", round, sum.Load())
			}
			if call%20 == 0 {
				toil(200 * time.Microsecond) // some workers park, or none
			}
		}
	}
}

// A call with more workers than the calls before it waits for all of them: those
// that did not take part for a while included.
func TestLimitWaits(t *testing.T) {
	const threads = 4
	p := newPool(t, threads)
	nothing := taskFunc(func(int, int) {})
	for range 100 {
		p.Limit(2)
		for range 3 {
			p.Do(nothing)
		}
		p.Limit(threads)
		var began, ended atomic.Int32
		p.Do(taskFunc(func(worker, _ int) {
			if began.Add(1); worker == 0 {
				hold(func() bool { return began.Load() == threads })
			} else { // ends when the caller waits
				hold(func() bool { return ended.Load() > 0 })
				toil(200 * time.Microsecond)
			}
			ended.Add(1)
		}))
		if n := ended.Load(); n != threads {
			t.Fatalf("%d of %d shares had ended", n, threads)
		}
	}
}
