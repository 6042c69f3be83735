package sched

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"atenia/internal/sample"
)

// eight are requests that are sampled, with seeds, some of which begin alike.
func (m *model) eight() (out []Request) {
	rng := rand.New(rand.NewPCG(8, 8))
	for i := range 8 {
		r := Request{Prompt: join(m.tokens(uint64(i/3), 20), m.tokens(uint64(50+i), 1+rng.IntN(25))), MaxTokens: 20 + rng.IntN(20)}
		r.Sampling = sample.Params{Temperature: 1.1, TopP: 0.95, RepeatPenalty: 1.1, Seed: uint64(100 + i), LogProbs: 2}
		r.Priority = i % 3
		out = append(out, r)
	}
	return out
}

// TestBatchOfEight: eight sampled requests at once have the tokens and logits, to the
// bit, that each has alone.
func TestBatchOfEight(t *testing.T) {
	for _, name := range append([]string{"gemma3"}, mixed...) {
		t.Run(name, func(t *testing.T) {
			m := open(t, name)
			s := m.still(small, Config{Slots: 8})
			m.compareEight(s, nil)
		})
	}
}

// TestBatchOfEightPreempted: the same, with memory for some of them only. Every
// request that is preempted while it decodes counts.
func TestBatchOfEightPreempted(t *testing.T) {
	for name, pages := range map[string]int{"llama3": 14, "gemma3": 12, "mistral_window": 5} {
		t.Run(name, func(t *testing.T) {
			m := open(t, name)
			s := m.still(small, Config{Slots: 8, PromptRows: 24, CacheBytes: m.budget(pages)})
			aside := map[string]bool{}
			m.compareEight(s, func() {
				for _, sl := range s.admission.slots {
					if sl.stalled && !sl.idle() && sl.done == 0 && len(sl.tokens) > len(sl.st.req.Prompt) {
						aside[sl.by] = true
					}
				}
			})
			preempted := 0
			for _, d := range s.Why("") {
				if d.Action == actionPreempt {
					preempted++
				}
			}
			if preempted == 0 || len(aside) == 0 {
				t.Errorf("%d preempted, %d of them while they decoded", preempted, len(aside))
			}
		})
	}
}

func (m *model) compareEight(s *Scheduler, each func()) {
	m.t.Helper()
	var answers, want []*answer
	for _, r := range m.eight() {
		want = append(want, m.alone(r))
		answers = append(answers, submit(m.t, s, r))
	}
	turns(m.t, s, each, answers...)
	for i := range answers {
		same(m.t, fmt.Sprint("request ", i), answers[i], want[i])
		for k, w := range want[i].tops {
			if g := answers[i].tops[k]; g.LogProb != w.LogProb || fmt.Sprint(g.Top) != fmt.Sprint(w.Top) {
				m.t.Errorf("request %d: alternatives of token %d differ", i, k)
			}
		}
	}
}
