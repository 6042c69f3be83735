package sched

import (
	"fmt"
	"testing"
)

// forkable are models whose states can be shared: by position, with windows, and
// without positions.
var forkable = []string{"llama3", "gemma3", "mistral_window", "granite_hybrid", "lfm2", "mamba"}

// TestForkAnswers: n answers of one prompt that come at once compute it once, hold
// its pages once, and are those of n requests alone.
func TestForkAnswers(t *testing.T) {
	for _, name := range forkable {
		t.Run(name, func(t *testing.T) {
			m := open(t, name)
			const n, prompt, made = 4, 70, 20
			var requests []Request
			var want []*answer
			for i := range n {
				r := Request{Prompt: m.tokens(1, prompt), MaxTokens: made}
				r.Sampling.Temperature, r.Sampling.Seed = 1.2, uint64(7+i)
				requests, want = append(requests, r), append(want, m.alone(r))
			}
			s := m.still(small, Config{Slots: n, PromptRows: 24})
			var answers []*answer
			for _, r := range requests {
				answers = append(answers, submit(t, s, r))
			}
			used := 0
			rows := turns(t, s, func() {
				if c := s.storage.pools[0].Cache().Stats(); c.Used > used {
					used = c.Used
				}
			}, answers...)
			for i := range answers {
				same(t, fmt.Sprint("answer ", i), answers[i], want[i])
			}
			if want := prompt - 1 + n + n*(made-1); rows != want {
				t.Errorf("%d rows, want %d: the prompt once but for its last token", rows, want)
			}
			if name == "llama3" { // 4 whole pages of the prompt once; what follows, to 89 tokens, in 2 pages each
				if most := 4 + n*2; used != most {
					t.Errorf("%d pages, want %d", used, most)
				}
			}
		})
	}
}

// TestForkSystemPrompt: conversations that come at once and begin alike compute the
// beginning once, whatever follows.
func TestForkSystemPrompt(t *testing.T) {
	for _, name := range forkable {
		t.Run(name, func(t *testing.T) {
			m := open(t, name)
			system := m.tokens(1, 60)
			s := m.still(small, Config{Slots: 3, PromptRows: 24})
			var answers, want []*answer
			for i := range 3 {
				tail := m.tokens(uint64(20+i), 6)
				tail[0] = int32(i)
				r := Request{Prompt: join(system, tail), MaxTokens: 5}
				want = append(want, m.alone(r))
				answers = append(answers, submit(t, s, r))
			}
			rows := turns(t, s, nil, answers...)
			for i := range answers {
				same(t, fmt.Sprint("answer ", i), answers[i], want[i])
			}
			if want := 60 + 3*6 + 3*4; rows != want {
				t.Errorf("%d rows, want %d", rows, want)
			}
		})
	}
}

// TestForkLeaderLeaves: who waits for a prefix goes on when the one that computes it
// is given up.
func TestForkLeaderLeaves(t *testing.T) {
	m := open(t, "llama3")
	s := m.still(small, Config{Slots: 2, PromptRows: 24})
	a := submit(t, s, Request{Prompt: m.tokens(1, 100), MaxTokens: 5})
	r := Request{Prompt: m.tokens(1, 100), MaxTokens: 5}
	want := m.alone(r)
	b := submit(t, s, r)
	s.turn()
	a.st.Close()
	turns(t, s, nil, a, b)
	same(t, "b", b, want)
	if b.st.cached != 24 {
		t.Errorf("%d tokens reused, want the 24 that were computed", b.st.cached)
	}
}

// TestForkNearest: of two requests that wait for one prompt, the one that shares less of it
// begins first: the step ends where it goes on.
func TestForkNearest(t *testing.T) {
	m := open(t, "llama3")
	s := m.still(small, Config{Slots: 3})
	lead := m.tokens(1, 100)
	requests := []Request{
		{Prompt: lead, MaxTokens: 3},
		{Prompt: join(lead[:40], m.tokens(2, 9)), MaxTokens: 3},
		{Prompt: join(lead[:19], m.tokens(3, 9)), MaxTokens: 3},
	}
	var answers []*answer
	for _, r := range requests {
		answers = append(answers, submit(t, s, r))
	}
	for _, want := range []int{19, 24} { // then both fill the step
		if s.turn(); len(s.batch.step.Tokens) != want {
			t.Errorf("a step of %d rows, want %d", len(s.batch.step.Tokens), want)
		}
	}
	turns(t, s, nil, answers...)
	for i, r := range requests {
		same(t, fmt.Sprint(i), answers[i], m.alone(r))
		if u := answers[i].st.Usage(); u.Cached != []int{0, 40, 19}[i] {
			t.Errorf("request %d reuses %d tokens", i, u.Cached)
		}
	}
}
