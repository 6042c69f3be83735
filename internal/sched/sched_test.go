package sched

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"atenia/internal/golden/await"
	"atenia/internal/sample"
)

// Requests that run together get what each gets alone.
func TestConcurrentEqualsAlone(t *testing.T) {
	for _, name := range kinds {
		t.Run(name, func(t *testing.T) {
			m := open(t, name)
			s := m.start(small, Config{Slots: 5})
			rng := rand.New(rand.NewPCG(2, 9))
			const n = 20
			var want, got [n]*answer
			var errs [n]error
			var wg sync.WaitGroup
			for i := range n {
				r := Request{Prompt: m.tokens(rng.Uint64N(8), 1+rng.IntN(70)), MaxTokens: rng.IntN(30), All: rng.IntN(6) == 0}
				if i%2 == 1 {
					r.Sampling = sample.Params{Temperature: 1, TopP: 0.95, Seed: uint64(i), LogProbs: 2}
				}
				if i%3 == 0 {
					r.Constrain = m.letters()
				}
				want[i] = m.alone(r)
				wg.Go(func() {
					if got[i], errs[i] = try(s, r); errs[i] == nil {
						got[i].collect()
					}
				})
			}
			wg.Wait()
			for i := range n {
				if errs[i] != nil {
					t.Fatal(errs[i])
				}
				same(t, fmt.Sprint("request ", i), got[i], want[i])
				for k := range want[i].tops {
					g, w := got[i].tops[k], want[i].tops[k]
					if g.LogProb != w.LogProb || !slices.Equal(g.Top, w.Top) {
						t.Errorf("request %d: alternatives of token %d differ", i, k)
					}
				}
			}
		})
	}
}

// The tokens of an answer are those that the logits ask for.
func TestGreedyTakesTheLargest(t *testing.T) {
	m := open(t, "llama3")
	a := submit(t, m.start(small, Config{}), Request{Prompt: m.tokens(1, 9), MaxTokens: 6}).collect()
	if len(a.logits) != 6 || len(a.tokens) != 6 {
		t.Fatalf("%d rows, %d tokens, want 6", len(a.logits), len(a.tokens))
	}
	for i, l := range a.logits {
		if best := slices.Index(l, slices.Max(l)); a.tokens[i] != int32(best) {
			t.Errorf("token %d is %d, the largest logit is of %d", i, a.tokens[i], best)
		}
	}
}

// The sampler is told every token of the sequence, of the prompt and its own,
// and once only, also when the sequence is set aside and computed again.
func TestSamplerSeesSequence(t *testing.T) {
	m := open(t, "llama3")
	r := Request{Prompt: m.tokens(1, 60), MaxTokens: 30}
	r.Sampling = sample.Params{FrequencyPenalty: 0.3, RepeatLast: -1}
	s := m.still(small, Config{PromptRows: 24, CacheBytes: m.budget(9)})
	first := submit(t, s, Request{Prompt: m.tokens(2, 60), MaxTokens: 30})
	second := submit(t, s, r)
	aside := false
	turns(t, s, func() { aside = aside || s.admission.slots[3].done == 0 && len(s.admission.slots[3].tokens) > 60 }, first, second)
	if !aside {
		t.Error("the second sequence was not set aside")
	}
	same(t, "set aside", second, m.alone(r))
	twin, err := sample.New(r.Sampling, m.Config.Vocab)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range r.Prompt {
		twin.Accept(id)
	}
	for i, l := range second.logits {
		c, err := twin.Sample(l)
		if err != nil || c.ID != second.tokens[i] {
			t.Fatalf("token %d is %d, want %d (%v)", i, second.tokens[i], c.ID, err)
		}
		twin.Accept(c.ID)
	}
}

func TestStopTokens(t *testing.T) {
	m := open(t, "qwen3")
	s := m.start(small, Config{})
	r := Request{Prompt: m.tokens(1, 20), MaxTokens: 12}
	r.Sampling = sample.Params{Temperature: 2, Seed: 4}
	whole := submit(t, s, r).collect()
	if whole.st.Finish() != FinishLength || len(whole.tokens) != 12 {
		t.Fatalf("%d tokens, %s", len(whole.tokens), whole.st.Finish())
	}
	r.Stop = []int32{whole.tokens[9], whole.tokens[5]}
	end := slices.IndexFunc(whole.tokens, func(id int32) bool { return slices.Contains(r.Stop, id) })
	got := submit(t, s, r).collect()
	if got.st.Finish() != FinishStop || got.st.Err() != nil || !slices.Equal(got.tokens, whole.tokens[:end+1]) {
		t.Errorf("%v (%s), want %v", got.tokens, got.st.Finish(), whole.tokens[:end+1])
	}
}

// An answer ends where the context does, and a prompt that fills it has none.
func TestContextFull(t *testing.T) {
	m := open(t, "llama3")
	cfg := small
	cfg.Context = 40
	s := m.start(cfg, Config{})
	for _, c := range []struct{ prompt, most, want int }{{30, math.MaxInt, 10}, {39, 5, 1}, {40, 5, 0}, {30, 3, 3}, {30, 0, 0}, {30, -2, 0}} {
		a := submit(t, s, Request{Prompt: m.tokens(1, c.prompt), MaxTokens: c.most}).collect()
		if len(a.tokens) != c.want || a.st.Finish() != FinishLength || a.st.Err() != nil {
			t.Errorf("%d + %d: %d tokens, %q, %v", c.prompt, c.most, len(a.tokens), a.st.Finish(), a.st.Err())
		}
		if first := a.rows[0]; first != c.prompt-1 {
			t.Errorf("%d + %d: the first logits come after token %d", c.prompt, c.most, first)
		}
	}
	for _, r := range []Request{{Prompt: m.tokens(1, 41)}, {Prompt: m.tokens(1, 39), Forced: []int32{1, 2}}} {
		_, err := s.Submit(context.Background(), r)
		if e, ok := errors.AsType[*ContextError](err); !ok || e.Prompt != 41 || e.Context != 40 {
			t.Errorf("41 tokens: %v", err)
		}
	}
}

func TestSubmitErrors(t *testing.T) {
	m := open(t, "llama3")
	s := m.start(small, Config{})
	vocab := int32(m.Config.Vocab)
	for name, r := range map[string]Request{
		"empty":        {},
		"negative":     {Prompt: []int32{1, -1}},
		"vocabulary":   {Prompt: []int32{vocab}},
		"forced":       {Prompt: []int32{1}, Forced: []int32{vocab}},
		"sampling":     {Prompt: []int32{1}, MaxTokens: 1, Sampling: sample.Params{Temperature: -1}},
		"not a number": {Prompt: []int32{1}, MaxTokens: 1, Sampling: sample.Params{TopP: float32(math.NaN())}},
	} {
		if st, err := s.Submit(context.Background(), r); err == nil || st != nil {
			t.Errorf("%s: accepted", name)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Submit(ctx, Request{Prompt: []int32{1}}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled context: %v", err)
	}
	// What only the sampler can tell ends the request, not the slot.
	bad := Request{Prompt: m.tokens(1, 20), MaxTokens: 3, Sampling: sample.Params{LogitBias: map[int32]float32{vocab: 1}}}
	for range 6 {
		if err := submit(t, s, bad).collect().st.Err(); err == nil {
			t.Error("a bias outside the vocabulary was accepted")
		}
	}
	good := Request{Prompt: m.tokens(1, 25), MaxTokens: 3}
	same(t, "afterwards", submit(t, s, good).collect(), m.alone(good))
}

// Close ends what runs and what waits, for all who call it, and leaves no
// goroutine.
func TestClose(t *testing.T) {
	m := open(t, "llama3")
	gone := await.Goroutines(t)
	s, err := New(m.executor(small), Config{Slots: 1})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var streams []*Stream
	for range 4 {
		st, err := s.Submit(ctx, Request{Prompt: m.tokens(1, 10), MaxTokens: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		streams = append(streams, st)
	}
	if _, ok := streams[0].Next(); !ok {
		t.Fatal("no token")
	}
	// Between two sequences nothing is held, so a late goroutine looks again.
	held := s.CacheBytes() > 0
	for _, st := range streams {
		for ok := true; ok && !held; {
			_, ok = st.Next()
			held = s.CacheBytes() > 0
		}
	}
	if !held {
		t.Error("running sequences hold no memory")
	}
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(s.Close)
	}
	wg.Wait()
	ended := false
	for i, st := range streams {
		for _, ok := st.Next(); ok; _, ok = st.Next() {
		}
		// The first ones may have filled their contexts meanwhile, in order:
		// on one processor this goroutine may be late.
		err := st.Err()
		if !errors.Is(err, ErrClosed) && (ended || err != nil) {
			t.Errorf("request %d: %v", i, err)
		}
		ended = ended || err != nil
		st.Close()
	}
	if _, err := s.Submit(ctx, Request{Prompt: []int32{1}}); !errors.Is(err, ErrClosed) {
		t.Errorf("submitted to a closed scheduler: %v", err)
	}
	if n := s.CacheBytes(); n != 0 {
		t.Errorf("a closed scheduler holds %d bytes", n)
	}
	s.Close()
	checkEmpty(t, s)
	gone()
}

// A request that fails in its first step does not leave the queue asleep.
func TestQueueGoesOnAfterFailure(t *testing.T) {
	m := open(t, "llama3")
	s := m.start(small, Config{Slots: 1, CacheBytes: m.budget(2)})
	var answers []*answer
	for i := range 6 {
		r := Request{Prompt: m.tokens(uint64(i), 25), MaxTokens: 5}
		if i%2 == 0 { // only the sampler can tell
			r.Sampling.LogitBias = map[int32]float32{int32(s.vocab): 1}
		}
		answers = append(answers, submit(t, s, r))
	}
	for i, a := range answers {
		if err := a.collect().st.Err(); (err != nil) != (i%2 == 0) {
			t.Errorf("request %d: %v", i, err)
		}
	}
}

// TestUsage: a request's counts are those of its tokens, and once it has ended its context
// is not watched any more.
func TestUsage(t *testing.T) {
	m := open(t, "llama3")
	s := m.still(small, Config{Slots: 2})
	for i := range 6 {
		a := submit(t, s, Request{Prompt: m.tokens(1, 20+i), MaxTokens: 3 + i})
		turns(t, s, nil, a)
		want := Usage{Prompt: 20 + i, Cached: a.st.cached, Answer: 3 + i}
		if u := a.st.Usage(); u != want || len(a.tokens) != 3+i || i > 0 && u.Cached != 19+i {
			t.Errorf("%d tokens, usage %+v, want %+v", len(a.tokens), u, want)
		}
		if a.st.stop() {
			t.Error("the context of an ended request is watched")
		}
	}
}

// TestChangedWhileRunning: a request that ends when the model's files have changed ends with
// that error, whatever it has said, and so do those after it.
func TestChangedWhileRunning(t *testing.T) {
	m := open(t, "llama3")
	changed := errors.New("changed")
	var now error
	s := m.still(small, Config{Slots: 2, Intact: func() error { return now }})
	a := submit(t, s, Request{Prompt: m.tokens(1, 20), MaxTokens: 5})
	for range 3 {
		s.turn()
	}
	now = changed
	turns(t, s, nil, a)
	if !errors.Is(a.st.Err(), changed) || a.st.Finish() != "" {
		t.Errorf("finished by %q: %v", a.st.Finish(), a.st.Err())
	}
	now = nil
	b := submit(t, s, Request{Prompt: m.tokens(2, 20), MaxTokens: 5})
	turns(t, s, nil, b)
	if !errors.Is(b.st.Err(), changed) {
		t.Errorf("a later one: %v", b.st.Err())
	}
}
