package main

import (
	"testing"

	"atenia/nested/rule"
)

// TestRecall trains three models. Without memory the answer is unknown, the
// delta rule finds it, and the Hebbian rule, which adds where the delta rule
// corrects, is worse where a value was overwritten.
func TestRecall(t *testing.T) {
	t.Parallel()
	run := func(o Options) Result {
		o.Seed = 1
		r, err := Run(o)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %+v", o.Rule, r)
		return r
	}
	off := run(Options{Rule: rule.Delta, Still: true, Steps: 100})
	delta := run(Options{Rule: rule.Delta, Steps: 500})
	hebbian := run(Options{Rule: rule.Hebbian, Steps: 500})
	if off.Accuracy >= 0.25 {
		t.Errorf("without memory %.3f are right: the task gives answers away", off.Accuracy)
	}
	if delta.Accuracy < 0.95 {
		t.Errorf("the delta rule has %.3f right, want 0.95", delta.Accuracy)
	}
	if d := delta.Overwritten - hebbian.Overwritten; d < 0.10 {
		t.Errorf("on overwritten keys the delta rule is %.3f ahead of the Hebbian rule, want 0.10", d)
	}
}

// TestThreads trains with one and two threads: the same bits.
func TestThreads(t *testing.T) {
	t.Parallel()
	var results [2]Result
	for i := range results {
		var err error
		results[i], err = Run(Options{Rule: rule.MEMORA, Memory: rule.Config{Hidden: 8}, Width: 8, Steps: 10, Batch: 4, Tests: 20, Threads: 1 + i})
		if err != nil {
			t.Fatal(err)
		}
	}
	if results[0] != results[1] {
		t.Errorf("%+v with one thread, %+v with two", results[0], results[1])
	}
}
