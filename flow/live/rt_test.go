package live

import (
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"atenia/flow/graph"
	"atenia/internal/golden/await"
)

func TestConfig(t *testing.T) {
	t.Parallel()
	step := func() graph.Code { return graph.Success }
	_, err := NewLoop(LoopConfig{Rate: -1, Blocks: -2, Priority: 100, Processor: -1}, step)
	if !errors.Is(err, ErrConfig) {
		t.Fatalf("got %v, want ErrConfig", err)
	}
	for _, word := range []string{"Rate is -1", "Blocks is -2", "Priority is 100", "Processor is -1"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("error %q does not say %q", err, word)
		}
	}
	if _, err := NewLoop(LoopConfig{}, step); err == nil {
		t.Error("a loop without clock and end was accepted")
	}
	if _, err := NewLoop(LoopConfig{Rate: 48000}, step); err == nil {
		t.Error("a clock without frames was accepted")
	}
	if p := (&LoopConfig{Rate: 48000, Frames: 64}).Period(); p != 1333333*time.Nanosecond {
		t.Errorf("period %v", p)
	}
}

func TestLoopCounts(t *testing.T) {
	t.Parallel()
	var calls int
	l, err := NewLoop(LoopConfig{Blocks: 1000}, func() graph.Code {
		if calls++; calls%100 == 0 {
			return graph.Numeric
		}
		return graph.Success
	})
	if err != nil {
		t.Fatal(err)
	}
	r := l.Run()
	if calls != 1000 || r.Blocks != 1000 || r.Faults != 10 || r.Code != graph.Numeric || r.Late != 0 {
		t.Errorf("%d calls, report %v", calls, r)
	}
	if r.Work.Count() != 1000 || r.Wake.Count() != 0 {
		t.Errorf("histograms of %d and %d", r.Work.Count(), r.Wake.Count())
	}
}

func TestLoopEnds(t *testing.T) {
	t.Parallel()
	var calls int
	l, _ := NewLoop(LoopConfig{Blocks: 1000}, func() graph.Code {
		if calls++; calls == 7 {
			return graph.End
		}
		return graph.Success
	})
	if r := l.Run(); r.Blocks != 7 || r.Code != graph.End || r.Faults != 0 {
		t.Errorf("after End: %v", r)
	}
}

// TestLoopClock: with a clock every period is either run or counted as missed,
// and Stop ends the loop.
func TestLoopClock(t *testing.T) {
	t.Parallel()
	enough := make(chan struct{})
	var calls int
	l, err := NewLoop(LoopConfig{Frames: 48, Rate: 48000, Priority: -1}, func() graph.Code { calls++; return graph.Success })
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(50*time.Millisecond, func() { l.Stop(); close(enough) })
	r := l.Run()
	<-enough
	if int(r.Blocks) != calls || r.Wake.Count() != uint64(r.Blocks) || (r.Late == 0) != (r.Missed == 0) {
		t.Errorf("%d calls: %v", calls, r)
	}
	if r.FIFO != 0 {
		t.Error("a priority was taken that was not asked for")
	}
}

// TestClock: blocks are due at begin + k·num/rate, rounded down, without drift; late
// ones are skipped.
func TestClock(t *testing.T) {
	t.Parallel()
	c := clock{rate: 44100, num: 64 * aSecond}
	c.begin(1000)
	for k := int64(1); k < 100_000; k++ {
		if want := 1000 + k*64*aSecond/44100; c.due != want {
			t.Fatalf("block %d is due at %d, want %d", k, c.due, want)
		}
		c.next(c.due)
	}
	c = clock{rate: 1000, num: aSecond} // 1 ms
	c.begin(0)
	if got := c.next(c.due + 2_500_000); got != 2 || c.due != 4_000_000 {
		t.Errorf("skipped %d, next due at %d: want 2 and 4 ms", got, c.due)
	}
}

func TestHistogram(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	var h Histogram
	all := make([]int64, 5000)
	for i := range all {
		all[i] = int64(math.Exp(r.Float64() * 25))
		h.add(all[i])
	}
	h.add(-5)
	all = append(all, 0)
	slices.Sort(all)
	for _, q := range []float64{0, .01, .5, .9, .99, .999, 1} {
		want, got := all[int(q*float64(len(all)-1))], int64(h.Quantile(q))
		if got < want || float64(got) > 1.125*float64(want)+1 {
			t.Errorf("quantile %v is %d, want %d", q, got, want)
		}
	}
	for i := range h.counts[:60*perOctave] {
		if b := bucket(uint64(top(i))); b != i {
			t.Fatalf("the top of bucket %d, %d, is in %d", i, top(i), b)
		}
	}
	if (&Histogram{}).Quantile(.5) != 0 {
		t.Error("an empty histogram has a quantile")
	}
}

func TestRing(t *testing.T) {
	t.Parallel()
	const block, n = 3, 20_000
	r, err := NewRing[float32](block, 4)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for k := 0; k < n; {
			if r.Put([]float32{float32(k), float32(k), float32(k)}) {
				k++
			} else {
				runtime.Gosched()
			}
		}
	}()
	got := make([]float32, block)
	for k := 0; k < n; {
		if !r.Get(got) {
			runtime.Gosched()
			continue
		}
		if got[0] != float32(k) || got[2] != float32(k) {
			t.Fatalf("block %d is %v", k, got)
		}
		k++
	}
	if r.Len() != 0 || r.Get(got) {
		t.Error("the ring is not empty at the end")
	}
	for range 4 {
		r.Put(got)
	}
	if r.Put(got) || r.Len() != 4 {
		t.Error("a full ring took a block")
	}
	if _, err := NewRing[float64](0, 4); !errors.Is(err, ErrConfig) {
		t.Errorf("got %v", err)
	}
	if _, err := NewRing[float64](1<<20, 1<<20); !errors.Is(err, ErrConfig) {
		t.Errorf("got %v", err)
	}
}

// TestLoopAllocates: a loop does not allocate, for any number of blocks.
func TestLoopAllocates(t *testing.T) {
	run := func(blocks int64) float64 {
		return await.Allocs(1, func() {
			l, _ := NewLoop(LoopConfig{Blocks: blocks}, func() graph.Code { return graph.Success })
			l.Run()
		})
	}
	// The runtime's own threads count too, now and then.
	if few, many := run(1), run(100_000); many > few+50 {
		t.Errorf("%g allocations for 1 block, %g for 100,000", few, many)
	}
}
