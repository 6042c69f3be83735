package kernel

import (
	"slices"
	"sync"
	"testing"
	"time"
)

// TestMeasureOnce: of many concurrent goroutines one measures and records, and
// Forget reopens the choice.
func TestMeasureOnce(t *testing.T) {
	defer forgetChoices()
	var c choice
	for round := range 2 {
		if !c.Open() || c.Or(7) != 7 {
			t.Fatalf("round %d: not open", round)
		}
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				c.Measure("what", "class", []int{2, 3}, func(int) {})
				if v := c.Or(2); v != 2 && v != 3 {
					t.Errorf("chose %d", v)
				}
			})
		}
		wg.Wait()
		d := Decisions()
		if len(d) != 1 || d[0].What != "what" || d[0].Class != "class" || len(d[0].Candidates) != 2 || d[0].Choice != c.Or(0) {
			t.Errorf("round %d: %+v", round, d)
		}
		forgetChoices()
		if len(Decisions()) != 0 {
			t.Errorf("records after Forget")
		}
	}
}

// TestForgetMeanwhile: a measurement that was running when all were forgotten is
// dropped.
func TestForgetMeanwhile(t *testing.T) {
	var c choice
	c.Measure("what", "class", []int{1, 2}, func(v int) {
		if v == 2 {
			forgetChoices()
		}
	})
	if !c.Open() || len(Decisions()) != 0 {
		t.Errorf("kept %+v", Decisions())
	}
}

// TestBest: the first candidate is chosen unless another is clearly better, and
// choices are recorded by class.
func TestBest(t *testing.T) {
	for _, c := range []struct {
		took []time.Duration
		want int
	}{{[]time.Duration{100, 99, 120}, 0}, {[]time.Duration{1000, 1100, 900}, 2}, {[]time.Duration{5}, 0}} {
		var all []Candidate
		for i, d := range c.took {
			all = append(all, Candidate{i, d})
		}
		if got := best(all); got != c.want {
			t.Errorf("%v: chose %d, want %d", c.took, got, c.want)
		}
	}
	defer forgetChoices()
	var a, b choice
	a.Measure("z", "b", []int{1}, func(int) {})
	b.Measure("a", "a", []int{1}, func(int) {})
	if d := Decisions(); !slices.IsSortedFunc(d, func(x, y Decision) int { return int(x.Class[0]) - int(y.Class[0]) }) {
		t.Errorf("%+v", d)
	}
}
