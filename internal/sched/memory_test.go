package sched

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"atenia/internal/exec"
	"atenia/internal/golden/await"
)

// budget returns the bytes of that many pages of every state.
func (m *model) budget(pages int) int64 {
	var n int64
	for _, d := range m.Plans.Prefill.Plan.States {
		n += int64(pages) * int64(d.SizeBytes)
	}
	return n
}

// With memory for a fraction of what is asked for, all requests end with the
// tokens and logits they have alone, each row shown once.
func TestEvictUnderPressure(t *testing.T) {
	for _, name := range kinds {
		t.Run(name, func(t *testing.T) {
			m := open(t, name)
			var requests []Request
			var want []*answer
			rng := rand.New(rand.NewPCG(7, 7))
			for i := range 16 {
				r := Request{Prompt: m.tokens(uint64(i%13), 5+rng.IntN(50)), MaxTokens: 5 + rng.IntN(40)}
				if i%5 == 4 {
					r.All = true
				}
				if i%4 == 3 {
					r.Sampling.Temperature, r.Sampling.Seed = 1.5, uint64(i)
					r.Sampling.RepeatPenalty = 1.2
				}
				if i%8 == 1 {
					r.Constrain = m.letters()
				}
				requests, want = append(requests, r), append(want, m.alone(r))
			}
			pages := map[string]int{"llama3": 9, "gemma3": 11, "mistral_window": 5}[name]
			s := m.still(small, Config{Slots: 6, PromptRows: 24, CacheBytes: m.budget(pages)})
			var answers []*answer
			for _, r := range requests {
				answers = append(answers, submit(t, s, r))
			}
			var stalled, aside int
			turns(t, s, func() {
				for _, sl := range s.admission.slots {
					for a := sl.ahead; a != nil && a.busy && len(a.found) == 0; { // else who decodes when is chance
						runtime.Gosched()
					}
					if sl.stalled && !sl.idle() {
						stalled++
						if len(sl.tokens) > len(sl.st.req.Prompt) && sl.done == 0 {
							aside++ // while it decoded
						}
					}
				}
				if used := usedBytes(s); used > m.budget(pages) {
					t.Fatalf("%d bytes used of %d", used, m.budget(pages))
				}
			}, answers...)
			for i, a := range answers {
				same(t, fmt.Sprint("request ", i), a, want[i])
			}
			if stalled == 0 || aside == 0 {
				t.Errorf("waiting sequences seen %d times, set aside while decoding %d times: no pressure", stalled, aside)
			}
		})
	}
}

// A sequence that was set aside is computed again once, when another request
// has ended, not whenever there is a free page.
func TestSetAsideWaits(t *testing.T) {
	m := open(t, "llama3")
	s := m.still(small, Config{CacheBytes: m.budget(11)})
	older := submit(t, s, Request{Prompt: m.tokens(1, 20), MaxTokens: 150})
	younger := submit(t, s, Request{Prompt: m.tokens(2, 62), MaxTokens: 80})
	rows := turns(t, s, nil, older, younger)
	if once := 169 + 141; rows <= once || rows > once+141 {
		t.Errorf("%d rows for sequences of 169 and 141, the second computed at most twice", rows)
	}
}

// What can never fit is refused with the numbers, and an answer ends where the memory does,
// as at the end of a context; the others go on.
func TestTooLarge(t *testing.T) {
	m := open(t, "llama3")
	s := m.start(small, Config{CacheBytes: m.budget(6)}) // 96 tokens
	_, err := s.Submit(context.Background(), Request{Prompt: m.tokens(1, 97)})
	if e, ok := errors.AsType[*ContextError](err); !ok || *e != (ContextError{97, 96, true}) {
		t.Errorf("prompt: %v", err)
	}

	r := Request{Prompt: m.tokens(1, 50), MaxTokens: 100}
	ok := Request{Prompt: m.tokens(2, 30), MaxTokens: 60}
	want, wantOK := m.alone(r), m.alone(ok)
	a, b := submit(t, s, r), submit(t, s, ok)
	a.collect()
	if n := len(a.tokens); n != 96-50 || a.st.Err() != nil || a.st.Finish() != FinishLength {
		t.Errorf("ended after %d tokens, want 46: %v, %v", n, a.st.Finish(), a.st.Err())
	}
	for i := range a.tokens {
		if a.tokens[i] != want.tokens[i] {
			t.Fatalf("token %d differs", i)
		}
	}
	same(t, "the other", b.collect(), wantOK)
}

// A model all of whose layers have windows needs little memory for any length:
// chunks shrink to what there is.
func TestWindowsTakeLittle(t *testing.T) {
	m := open(t, "mistral_window")
	r := Request{Prompt: m.tokens(1, 180), MaxTokens: 60}
	want := m.alone(r)
	s := m.still(small, Config{CacheBytes: m.budget(2)})
	a := submit(t, s, r)
	turns(t, s, nil, a)
	same(t, "two pages", a, want)
}

func TestConfigErrors(t *testing.T) {
	m := open(t, "llama3")
	x := m.executor(small)
	defer x.Close()
	for _, cfg := range []Config{{Slots: -1}, {Slots: 9}, {CacheBytes: -1}, {CacheBytes: 1}} {
		if _, err := New(x, cfg); err == nil {
			t.Errorf("%+v was accepted", cfg)
		}
	}
}

// Giving a request up at any moment leaves no page behind.
func TestAbortTeardown(t *testing.T) {
	why := errors.New("no longer needed")
	for _, name := range kinds {
		m := open(t, name)
		keep := Request{Prompt: m.tokens(1, 40), MaxTokens: 30}
		want := m.alone(keep)
		for moment, steps := range map[string]int{"mid prompt": 1, "mid decode": 6, "before admission": 0} {
			for _, how := range []string{"context", "close"} {
				t.Run(fmt.Sprint(name, " ", moment, " ", how), func(t *testing.T) {
					slots := 2
					if steps == 0 {
						slots = 1
					}
					s := m.still(small, Config{Slots: slots})
					other := submit(t, s, keep)
					s.turn()
					ctx, cancel := context.WithCancelCause(context.Background())
					st, err := s.Submit(ctx, Request{Prompt: m.tokens(2, 45), MaxTokens: 50})
					if err != nil {
						t.Fatal(err)
					}
					for range steps {
						s.turn()
					}
					wantErr := why
					if how == "context" {
						cancel(why)
						for st.cancelled.Load() == nil { // the context tells on a goroutine of its own
							runtime.Gosched()
						}
					} else {
						cancel(nil)
						wantErr = context.Canceled
						st.Close()
						st.Close()
					}
					s.turn()
					for _, ok := st.Next(); ok; _, ok = st.Next() {
					}
					if err := st.Err(); !errors.Is(err, wantErr) || st.Finish() != "" {
						t.Errorf("ended with %v, %q", err, st.Finish())
					}
					turns(t, s, nil, other)
					same(t, "the other", other, want)
					for s.evictIdle("") {
					}
					if n := usedBytes(s); n != 0 {
						t.Errorf("%d bytes are still used", n)
					}
				})
			}
		}
	}
}

// Thousands of requests that come and are given up at random leave nothing.
func TestRandomArrivals(t *testing.T) {
	m := open(t, "gemma3")
	gone := await.Goroutines(t)
	s, err := New(m.executor(exec.Config{Threads: 1, MaxTokens: 16, MaxLogits: 8, Context: 64}), Config{Slots: 6, CacheBytes: m.budget(10)})
	if err != nil {
		t.Fatal(err)
	}
	const clients = 12
	most := 3000
	if await.Long() {
		most = 30_000
	}
	counts := make(chan [3]int)
	for c := range clients {
		go func() {
			rng := rand.New(rand.NewPCG(uint64(c), 3))
			var n [3]int // ended, given up, failed
			for range most / clients {
				n[m.visit(s, rng)]++
			}
			counts <- n
		}()
	}
	var n [3]int
	for range clients {
		for i, k := range <-counts {
			n[i] += k
		}
	}
	s.Close()
	checkEmpty(t, s)
	gone()
	t.Logf("%d ended, %d were given up", n[0], n[1])
	if n[0] == 0 || n[1] == 0 || n[2] > 0 {
		t.Errorf("%d ended, %d were given up, %d failed", n[0], n[1], n[2])
	}
}

// visit is one random request: it ends, is given up, or is given up before it
// can begin.
func (m *model) visit(s *Scheduler, rng *rand.Rand) int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r := Request{Prompt: m.tokens(rng.Uint64N(5), 1+rng.IntN(40)), MaxTokens: rng.IntN(8), All: rng.IntN(4) == 0}
	st, err := s.Submit(ctx, r)
	if err != nil {
		return 2
	}
	switch rng.IntN(4) {
	case 0:
		st.Close()
	case 1:
		st.Next()
		cancel()
	}
	for _, ok := st.Next(); ok; _, ok = st.Next() {
	}
	switch {
	case st.Err() == nil:
		return 0
	case errors.Is(st.Err(), context.Canceled):
		return 1
	}
	return 2
}

// TestIdleBeforeRunning: a request takes the pages of ended sequences before it preempts
// one that runs.
func TestIdleBeforeRunning(t *testing.T) {
	m := open(t, "llama3")
	s := m.still(small, Config{Slots: 3, PromptRows: 24, KeepBytes: -1, CacheBytes: m.budget(12)})
	c := s.storage.pools[0].Cache()
	page := c.Config().PageTokens
	turns(t, s, nil, submit(t, s, Request{Prompt: m.tokens(1, 3*page+page/2), MaxTokens: page / 4})) // leaves 4 pages
	one := submit(t, s, Request{ID: "one", Prompt: m.tokens(2, page), MaxTokens: 5*page - 2})
	two := submit(t, s, Request{ID: "two", Prompt: m.tokens(3, page), MaxTokens: 5*page - 2}) // 12 pages together, and the older one asks first
	turns(t, s, nil, one, two)
	evicted := 0
	for _, d := range s.Why("") {
		switch d.Action {
		case actionPreempt:
			t.Errorf("%+v", d)
		case actionEvict:
			evicted++
		}
	}
	if evicted != 1 {
		t.Errorf("%d sequences were evicted, want 1", evicted)
	}
}

// TestSharedPagesAdmit: a request is admitted to memory that has room for it because its
// prompt shares the pages of one that runs.
func TestSharedPagesAdmit(t *testing.T) {
	m := open(t, "llama3")
	s := m.still(small, Config{Slots: 2, KeepBytes: -1, CacheBytes: m.budget(9)})
	c := s.storage.pools[0].Cache()
	page := c.Config().PageTokens
	prompt := m.tokens(1, 4*page+1)
	one := submit(t, s, Request{Prompt: prompt, MaxTokens: page})
	for range 8 { // the prompt, and some of the answer
		s.turn()
	}
	two := submit(t, s, Request{Prompt: prompt, MaxTokens: page})
	if s.turn(); one.ended() || slices.ContainsFunc(s.admission.slots, (*slot).idle) {
		t.Errorf("the second waits: %v", s.Why(two.st.req.ID))
	}
	turns(t, s, nil, one, two)
	if got := two.st.Usage().Cached; got != 4*page {
		t.Errorf("%d tokens were reused", got)
	}
}
