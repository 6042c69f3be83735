package sched

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"atenia/internal/exec"
	"atenia/internal/golden/await"
	"atenia/internal/machine/cpu"
)

// Sequences that decode get their row in every step, and a long prompt gets
// all that is left, so neither holds the other up.
func TestStepSharesRows(t *testing.T) {
	m := open(t, "llama3")
	cfg := exec.Config{Threads: 1, MaxTokens: 8, MaxLogits: 4, Context: 256}
	s := m.still(cfg, Config{Slots: 4, PromptRows: 8})
	var answers []*answer
	for i := range 3 {
		answers = append(answers, submit(t, s, Request{Prompt: m.tokens(uint64(i), 2), MaxTokens: 100}))
	}
	for range 3 {
		s.turn()
	}
	long := submit(t, s, Request{Prompt: m.tokens(9, 101), MaxTokens: 2})
	for step := range 21 { // 5 rows each for the prompt, which takes 101
		if len(long.rows) > 0 {
			t.Fatalf("logits of the prompt after %d steps", step)
		}
		had := len(answers[0].rows) + len(answers[1].rows) + len(answers[2].rows)
		s.turn()
		if got := len(answers[0].rows) + len(answers[1].rows) + len(answers[2].rows); got != had+3 {
			t.Fatalf("step %d: %d of 3 sequences went on", step, got-had)
		}
	}
	if len(long.rows) != 1 {
		t.Errorf("no logits of the prompt after 21 steps")
	}
	turns(t, s, nil, append(answers, long)...)
}

// As many sequences as a step has rows, and as it has logits, all go on.
func TestAsManySlotsAsRows(t *testing.T) {
	m := open(t, "llama3")
	s := m.still(exec.Config{Threads: 1, MaxTokens: 4, MaxLogits: 4, Context: 64}, Config{Slots: 4})
	var answers, want []*answer
	for i := range 9 {
		r := Request{Prompt: m.tokens(uint64(i), 3+i), MaxTokens: 6, All: i%3 == 0}
		answers, want = append(answers, submit(t, s, r)), append(want, m.alone(r))
	}
	turns(t, s, nil, answers...)
	for i := range answers {
		same(t, "request", answers[i], want[i])
	}
}

func TestDecodeDoesNotAllocate(t *testing.T) {
	for _, name := range kinds {
		m := open(t, name)
		var n float64
		for range 3 { // the runtime itself allocates now and then
			if n = decodeAllocs(t, m); n == 0 {
				break
			}
		}
		if n != 0 {
			t.Errorf("%s: %g allocations in 95 steps", name, n)
		}
	}
}

// decodeAllocs counts the allocations of 95 steps of two sequences.
func decodeAllocs(t *testing.T, m *model) float64 {
	s := m.still(small, Config{Slots: 3})
	a := submit(t, s, Request{Prompt: m.tokens(1, 30), MaxTokens: 220})
	a.st.req.OnLogits = nil // the test's own allocates
	b := submit(t, s, Request{Prompt: m.tokens(2, 3), MaxTokens: 220})
	b.st.req.OnLogits = nil
	b.st.req.Sampling.Temperature = 0.8
	for range 20 { // into the decode, past the first windows
		s.turn()
	}
	// In one run, since the average would round a rare one down.
	return await.Allocs(1, func() {
		for range 95 {
			if !s.turn() || len(s.batch.step.Tokens) != 2 {
				t.Fatal("not a step of two decode rows")
			}
		}
	})
}

// A step that fails ends the requests in it, and no other.
func TestStepFailure(t *testing.T) {
	m := open(t, "llama3")
	s := m.still(small, Config{Slots: 2, PromptRows: 24})
	r := Request{Prompt: m.tokens(1, 20), MaxTokens: 4}
	want := m.alone(r)
	bad := submit(t, s, r)
	s.turn()
	s.admission.slots[1].tokens[20] = -1 // which the executor refuses
	waiting := submit(t, s, Request{Prompt: m.tokens(2, 20), MaxTokens: 4})
	s.turn()
	if err := bad.collect().st.Err(); !errors.Is(err, exec.ErrStep) {
		t.Errorf("ended with %v", err)
	}
	if err := waiting.collect().st.Err(); !errors.Is(err, exec.ErrStep) {
		t.Errorf("its neighbour ended with %v", err)
	}
	again := submit(t, s, r)
	turns(t, s, nil, again)
	same(t, "again", again, want)
	if i := slices.IndexFunc(s.admission.slots, func(sl *slot) bool { return !sl.idle() }); i >= 0 {
		t.Errorf("slot %d is not idle", i)
	}
}

// Only steps that hold rows of a request with counters count.
func TestCountersOfRequest(t *testing.T) {
	m := open(t, "llama3")
	s := m.still(small, Config{Slots: 2, PromptRows: 24})
	var c exec.Counters
	counted := submit(t, s, Request{Prompt: m.tokens(1, 4), MaxTokens: 3, Counters: &c})
	plain := submit(t, s, Request{Prompt: m.tokens(2, 4), MaxTokens: 9})
	steps, decode := 0, uint64(len(m.Plans.Decode.Plan.Instructions))
	turns(t, s, func() {
		if s.batch.step.Counters != nil {
			steps++
		}
	}, counted, plain)
	prefill := uint64(len(m.Plans.Prefill.Plan.Instructions))
	if steps != 3 || c.Total() != prefill+2*decode {
		t.Errorf("%d steps and %d instructions counted, want 3 and %d", steps, c.Total(), prefill+2*decode)
	}
}

// BenchmarkOverhead decodes eight sequences and reports what a turn takes beside the
// executor's step: filling it, sampling, delivery and what other goroutines see.
func BenchmarkOverhead(b *testing.B) {
	m := open(b, "llama3")
	var inside time.Duration
	s, err := newScheduler(m.executor(small), Config{Slots: 8, Watch: func(p StepInfo) { inside += p.Took }})
	if err != nil {
		b.Fatal(err)
	}
	defer s.shutdown()
	var total time.Duration
	for b.Loop() {
		if s.admission.slots[0].idle() {
			for i := range 8 {
				if _, err := s.Submit(context.Background(), Request{Prompt: m.tokens(uint64(i), 2), MaxTokens: 250}); err != nil {
					b.Fatal(err)
				}
			}
			for range 4 {
				s.turn()
			}
			inside = 0
			total = 0
		}
		began := time.Now()
		s.turn()
		total += time.Since(began)
	}
	steps := float64(total-inside) / float64(total)
	b.ReportMetric(100*steps, "%outside")
}

// BenchmarkGap reads 500 tokens of a prompt after 28,000 cached ones beside an
// answer, and reports the processor time of the answer's steps as multiples of one
// alone. On a busy machine the clock says how long the process waited.
func BenchmarkGap(b *testing.B) {
	const deep, rest = 28_000, 500
	m := open(b, "llama3")
	var took []time.Duration
	used := cpu.Time()
	s, err := newScheduler(m.executor(exec.Config{Threads: 1, MaxTokens: 512, MaxLogits: 8, Context: 32 << 10}), Config{Slots: 2, Watch: func(StepInfo) {
		now := cpu.Time()
		took, used = append(took, now-used), now
	}})
	if err != nil {
		b.Fatal(err)
	}
	defer s.shutdown()
	ask := func(r Request) *answer {
		a := submit(b, s, r)
		a.st.req.OnLogits = nil // the test's own keeps them
		return a
	}
	prompt := m.tokens(1, deep)
	for first := ask(Request{Prompt: prompt, MaxTokens: 1}); !first.ended(); {
		s.turn()
	}
	var alone, median, mean, longest float64
	for i := uint64(0); b.Loop(); i++ {
		other := ask(Request{Prompt: m.tokens(2, 4), MaxTokens: 30_000})
		for range 200 {
			s.turn()
		}
		took = took[len(took)-100:]
		slices.Sort(took)
		plain := took[len(took)/2].Seconds()
		took = took[:0]
		for long := ask(Request{Prompt: slices.Concat(prompt, m.tokens(3+i, rest)), MaxTokens: 1}); !long.ended(); {
			s.turn()
		}
		sum := 0.0
		for _, d := range took {
			sum += d.Seconds()
		}
		slices.Sort(took)
		n := len(took)
		alone, median, mean, longest = alone+plain, median+took[n/2].Seconds()/plain, mean+sum/float64(n)/plain, longest+took[n-1].Seconds()/plain
		other.st.Close()
		for !other.ended() {
			s.turn()
		}
		took = took[:0]
	}
	n := float64(b.N)
	b.ReportMetric(alone/n*1e6, "alone-us")
	b.ReportMetric(median/n, "steps-median")
	b.ReportMetric(mean/n, "steps-mean")
	b.ReportMetric(longest/n, "steps-longest")
}
