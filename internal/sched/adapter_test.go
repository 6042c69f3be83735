package sched

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"atenia/internal/exec"
	"atenia/internal/plan"
)

// lowRanks draws n adapters of all matrices that may have one, and releases them when
// the test ends.
func (m *model) lowRanks(n int) (out []*exec.LowRank) {
	m.t.Helper()
	x := m.executor(small)
	defer x.Close()
	rng := rand.New(rand.NewPCG(5, 5))
	for k := range n {
		l := &plan.LowRank{Name: fmt.Sprint("a", k)}
		var fs []exec.Factors
		for _, name := range m.Matrices() {
			s := m.Weights[name].Shape
			u := plan.Update{Weight: name, Rows: s[0], Cols: s[1], Rank: 1 + rng.IntN(6), Scale: 1}
			if (&plan.LowRank{Updates: []plan.Update{u}}).Check(&m.Plans) != nil {
				continue
			}
			f := exec.Factors{A: make([]float32, u.Rank*u.Cols), B: make([]float32, u.Rows*u.Rank)}
			for i := range f.A {
				f.A[i] = float32(rng.NormFloat64() / math.Sqrt(float64(u.Cols)))
			}
			for i := range f.B {
				f.B[i] = float32(rng.NormFloat64() / 3)
			}
			l.Updates, fs = append(l.Updates, u), append(fs, f)
		}
		low, err := x.NewLowRank(&m.Plans, l, fs, nil)
		if err != nil {
			m.t.Fatal(err)
		}
		m.t.Cleanup(low.Release)
		out = append(out, low)
	}
	return out
}

// TestAdapters: requests of several adapters and of none, some of which begin alike,
// have in one batch the bits that each has alone: in many slots, in few, and with so
// little memory that they are preempted. Each tells once that it has ended.
func TestAdapters(t *testing.T) {
	for i, name := range append([]string{"gemma3"}, mixed...) {
		t.Run(name, func(t *testing.T) {
			m := open(t, name)
			lows := m.lowRanks(3)
			rng := rand.New(rand.NewPCG(uint64(i), 3))
			var requests []Request
			var want []*answer
			for k, r := range m.eight() {
				if pick := rng.IntN(5); pick < len(lows) || k < len(lows) {
					r.LowRank, r.Strength, r.Adapter = lows[(k+pick)%len(lows)], []float32{1, 0.5}[rng.IntN(2)], "a"
				}
				want = append(want, m.alone(r))
				requests = append(requests, r)
			}
			for _, c := range []Config{{Slots: 8}, {Slots: 2}, {Slots: 8, PromptRows: 24, CacheBytes: m.budget(14)}} {
				s := m.still(small, c)
				var answers []*answer
				ended := make([]int, len(requests))
				for k, r := range requests {
					r.Ended = func() { ended[k]++ }
					answers = append(answers, submit(t, s, r))
				}
				turns(t, s, nil, answers...)
				for k := range answers {
					same(t, fmt.Sprintf("%+v: request %d", c, k), answers[k], want[k])
					if ended[k] != 1 {
						t.Errorf("request %d ended %d times", k, ended[k])
					}
				}
			}
		})
	}
}

// TestAdapterPrefixes: what was computed with an adapter is reused by requests with the
// same one, as strong, and by no other: from slots, running and idle, from sequences
// that are kept beyond them, and while the first one is still computing.
func TestAdapterPrefixes(t *testing.T) {
	m := open(t, "llama3")
	lows := m.lowRanks(2)
	prompt := m.tokens(1, 80)
	kinds := []Request{{}, {LowRank: lows[0], Strength: 1}, {LowRank: lows[0], Strength: 0.5}, {LowRank: lows[1], Strength: 1}}
	for _, slots := range []int{1, 8} {
		s := m.still(small, Config{Slots: slots})
		for round := range 2 {
			for k, r := range kinds {
				r.Prompt, r.MaxTokens = prompt, 3
				a := submit(t, s, r)
				turns(t, s, nil, a)
				same(t, fmt.Sprint("kind ", k), a, m.alone(r))
				if got := a.st.Usage().Cached; (got > 0) != (round > 0) {
					t.Errorf("%d slots, round %d, kind %d: %d tokens reused", slots, round, k, got)
				}
			}
		}
	}
	s := m.still(small, Config{Slots: 8})
	var answers []*answer
	for k, r := range append(kinds, kinds...) { // each waits for the first of its kind alone
		r.Prompt, r.MaxTokens, r.ID = prompt, 3, fmt.Sprint(k)
		answers = append(answers, submit(t, s, r))
	}
	turns(t, s, nil, answers...)
	for k, a := range answers {
		r := kinds[k%len(kinds)]
		r.Prompt, r.MaxTokens = prompt, 3
		same(t, fmt.Sprint("request ", k), a, m.alone(r))
		if got := a.st.Usage().Cached; (got > 0) != (k >= len(kinds)) {
			t.Errorf("request %d reuses %d tokens", k, got)
		}
	}
	for _, d := range s.Why("") {
		if d.Action == actionWait && d.Rule == byPrefix && (d.Request[0]-d.Other[0])%byte(len(kinds)) != 0 {
			t.Errorf("%s", d)
		}
	}
	if err := s.checkComputed(); err != nil {
		t.Error(err)
	}
}

// checkComputed fails if a sequence of an adapter is shown as one of the model.
func (s *Scheduler) checkComputed() error {
	for _, sl := range s.admission.slots {
		if _, ok := sl.computed(); ok && sl.adapter.of != nil {
			return fmt.Errorf("slot %d shows a sequence of an adapter", sl.id)
		}
	}
	return nil
}

// TestForget: an adapter that is forgotten leaves no pages.
func TestForget(t *testing.T) {
	m := open(t, "llama3")
	low := m.lowRanks(1)[0]
	s := m.start(small, Config{Slots: 2})
	for i := range 4 {
		if a := submit(t, s, Request{Prompt: m.tokens(uint64(i), 40), MaxTokens: 2, LowRank: low, Strength: 1}).collect(); a.st.Err() != nil {
			t.Fatal(a.st.Err())
		}
	}
	s.Forget(low)
	s.call(func() {
		if n := usedBytes(s); n != 0 || len(s.kept.memory.list) != 0 {
			t.Errorf("%d bytes and %d sequences are left", n, len(s.kept.memory.list))
		}
	})
}
