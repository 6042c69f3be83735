package sched

import (
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
)

// TestRowsWithoutMemory: a sequence whose reader waits for another request gives that its
// pages, and has the same rows afterwards. The other does not wait for its prefix.
func TestRowsWithoutMemory(t *testing.T) {
	m := open(t, "llama3")
	inner := Request{Prompt: m.tokens(2, 60), MaxTokens: 20}
	want := m.alone(inner)
	outer := Request{Prompt: m.tokens(1, 40), Forced: m.tokens(3, 30), All: true}
	rows := m.alone(outer)
	alike := Request{Prompt: join(outer.Prompt, m.tokens(4, 5)), MaxTokens: 3}
	wantAlike := m.alone(alike)
	one := m.start(small, Config{Slots: 2})
	submit(t, one, inner).collect()
	var bytes int64
	one.call(func() { bytes = usedBytes(one) })
	s := m.start(small, Config{Slots: 2, CacheBytes: bytes * 5 / 4})
	outer.Rows = true
	st, err := s.Submit(t.Context(), outer)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	err = st.Rows(func(row int, logits []float32) error {
		if row != n || !slices.Equal(logits, rows.logits[row]) {
			t.Errorf("row %d differs, or comes as number %d", row, n)
		}
		if row == 3 { // of a chunk of the prompt, with which this one begins too
			same(t, "with the same prefix", submit(t, s, alike).collect(), wantAlike)
		}
		if n++; row == 39 || row == 60 {
			same(t, "inside", submit(t, s, inner).collect(), want)
		}
		return nil
	})
	if err != nil || n != len(rows.logits) {
		t.Errorf("%d rows, want %d: %v", n, len(rows.logits), err)
	}
	if why := s.Why(st.req.ID); !slices.ContainsFunc(why, func(d Decision) bool { return d.Action == actionPreempt }) {
		t.Errorf("it kept its pages: %v", why)
	}
}

// TestRowsBeforePauses: a pause comes after all rows of a step have been read, and there
// is one before each step, so that what is done by rows is done by steps.
func TestRowsBeforePauses(t *testing.T) {
	m := open(t, "llama3")
	var pauses, steps atomic.Int64
	s := m.start(small, Config{Between: func(*Pause) { pauses.Add(1) }, Watch: func(StepInfo) { steps.Add(1) }})
	st, err := s.Submit(t.Context(), Request{Prompt: m.tokens(1, 30), Forced: m.tokens(2, 40), All: true, Rows: true})
	if err != nil {
		t.Fatal(err)
	}
	first, n := int64(0), 0
	err = st.Rows(func(row int, _ []float32) error {
		for range 200 {
			runtime.Gosched()
		}
		s.kick() // whoever wakes the loop
		before := pauses.Load() - steps.Load()
		if n++; n == 1 {
			first = before
		}
		if before != first {
			t.Errorf("row %d: %d pauses before it was read, want none", row, before-first)
		}
		return nil
	})
	if err != nil || n != 70 {
		t.Errorf("%d rows, %v", n, err)
	}
}
