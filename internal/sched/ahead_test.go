package sched

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"atenia/internal/golden/await"
	"atenia/internal/sample"
)

// A delayed constraint looks for what is allowed once its gate is open, and has so many
// goroutines go first.
type delayed struct {
	sample.Constraint
	gate <-chan struct{}
	rng  *rand.Rand
	bad  any
}

func (g *delayed) Allowed(left int) ([]uint64, error) {
	<-g.gate
	if g.rng != nil {
		for range g.rng.IntN(200) {
			runtime.Gosched()
		}
	}
	if g.bad != nil {
		panic(g.bad)
	}
	return g.Constraint.Allowed(left)
}

// opened is a gate that does not stop anybody.
func opened() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// TestLateSet: while one answer waits for the set of its next tokens, others are computed
// to their ends, and one whose request is cancelled ends and leaves its slot to the next.
// The answer itself is the same as ever. A panic is that request's own error.
func TestLateSet(t *testing.T) {
	m := open(t, "llama3")
	start := m.letters()
	r := Request{Prompt: m.tokens(1, 5), MaxTokens: 30, Constrain: start}
	want := m.alone(r)
	plain := Request{Prompt: m.tokens(2, 30), MaxTokens: 20}
	beside := m.alone(plain)
	s := m.start(small, Config{Slots: 2})
	gate := make(chan struct{})
	limited := func(gate <-chan struct{}, bad any) Request {
		r := r
		r.Constrain = func() sample.Constraint { return &delayed{Constraint: start(), gate: gate, bad: bad} }
		return r
	}
	slow := submit(t, s, limited(gate, nil))
	same(t, "beside it", submit(t, s, plain).collect(), beside)
	ctx, cancel := context.WithCancel(t.Context())
	gone, err := s.Submit(ctx, limited(make(chan struct{}), nil))
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, ok := gone.Next(); ok || !errors.Is(gone.Err(), context.Canceled) {
		t.Errorf("cancelled while it waits: %v", gone.Err())
	}
	same(t, "after the one that was cancelled", submit(t, s, limited(opened(), nil)).collect(), want)
	bad := submit(t, s, limited(opened(), "a mask")).collect()
	if err := bad.st.Err(); err == nil || !strings.Contains(err.Error(), "a mask") {
		t.Errorf("a panic ended with %v", err)
	}
	close(gate)
	same(t, "the late one", slow.collect(), want)
}

// TestSetsAnyTime: whenever sets come, answers have the same tokens, with and without
// drafts, beside each other.
func TestSetsAnyTime(t *testing.T) {
	m := open(t, "llama3")
	start := m.letters()
	rng := rand.New(rand.NewPCG(5, 6))
	for _, drafts := range []int{0, 3} {
		s := m.start(small, Config{Slots: 3, Drafts: drafts})
		var list []*answer
		var want []*answer
		for i := range 8 {
			r := Request{Prompt: m.tokens(uint64(i), 4+i), MaxTokens: 40, Constrain: start}
			if i%2 == 1 {
				r.Sampling = sample.Params{Temperature: 1.5, Seed: uint64(i)}
			}
			want = append(want, m.alone(r))
			seed := rng.Uint64()
			if i%3 > 0 {
				r.Constrain = func() sample.Constraint {
					return &delayed{Constraint: start(), gate: opened(), rng: rand.New(rand.NewPCG(seed, 1))}
				}
			}
			if drafts > 0 {
				r.Speculate = SpeculateLookup
			}
			list = append(list, submit(t, s, r))
		}
		for i, a := range list {
			if a.collect(); a.st.Err() != nil || !slices.Equal(a.tokens, want[i].tokens) {
				t.Errorf("%d drafts: answer %d is %v, want %v: %v", drafts, i, a.tokens, want[i].tokens, a.st.Err())
			}
		}
	}
}

// TestSetsDoNotAllocate: once its states are made, a limited answer allocates nothing.
func TestSetsDoNotAllocate(t *testing.T) {
	m := open(t, "llama3")
	start := m.limit(`root ::= ([!-0] [A-Z]){120}`)
	n := 0.0
	for range 4 { // the runtime itself allocates now and then, and the first answer makes states
		s := m.still(small, Config{Slots: 2})
		a := submit(t, s, Request{Prompt: m.tokens(1, 5), MaxTokens: 300, Constrain: start})
		a.st.req.OnLogits = nil // the test's own allocates
		steps := func(n int) {
			for range n {
				for !s.turn() { // its set is late
					if runtime.Gosched(); a.ended() {
						t.Fatal("the answer has ended")
					}
				}
			}
		}
		steps(20)
		n = await.Allocs(1, func() { steps(40) })
		if a.st.Close(); n == 0 {
			return
		}
	}
	t.Errorf("%g allocations in 40 steps", n)
}
