package sched

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"atenia/internal/golden/await"
	"atenia/internal/sample"
)

// positional are models all of whose states keep positions apart.
var positional = []string{"llama3", "gemma3", "mistral_window", "qwen3"}

// A proposer is what proposes drafts in a test.
type proposer = func(sl *slot, ids []int32) ([]int32, int)

// drafters are look-up and adversaries of it: tokens that are all wrong but by
// chance, tokens that are all right, and prefixes of right ones before wrong ones. right
// has the answers by the requests' ids.
func drafters(rng *rand.Rand, vocab int, right map[string][]int32) map[string]proposer {
	wrong := func(ids []int32) []int32 {
		for len(ids) < cap(ids) {
			ids = append(ids, rng.Int32N(int32(vocab)))
		}
		return ids
	}
	know := func(sl *slot, ids []int32) []int32 {
		made := len(sl.tokens) - len(sl.st.req.Prompt)
		if a := right[sl.by]; made < len(a) {
			ids = append(ids, a[made:][:min(cap(ids), len(a)-made)]...)
		}
		return ids
	}
	return map[string]proposer{
		"lookup": lookUp,
		"wrong":  func(_ *slot, ids []int32) ([]int32, int) { return wrong(ids), rng.IntN(draftKinds) },
		"right":  func(sl *slot, ids []int32) ([]int32, int) { return know(sl, ids), 0 },
		"mixed": func(sl *slot, ids []int32) ([]int32, int) {
			if ids = know(sl, ids); len(ids) > 0 && rng.IntN(3) > 0 {
				ids = wrong(ids[:rng.IntN(min(6, len(ids)))])
			}
			return ids, rng.IntN(draftKinds)
		},
	}
}

// repeating returns a prompt that repeats itself, for look-up.
func (m *model) repeating(rng *rand.Rand) []int32 {
	var out []int32
	a := m.tokens(rng.Uint64(), 3+rng.IntN(12))
	for range 1 + rng.IntN(4) {
		out = join(out, a, m.tokens(rng.Uint64(), rng.IntN(4)))
	}
	return out
}

// speculative draws a request.
func (m *model) speculative(rng *rand.Rand, i int) Request {
	r := Request{ID: fmt.Sprint("s", i), Prompt: m.repeating(rng), MaxTokens: 1 + rng.IntN(60), Speculate: SpeculateLookup}
	switch rng.IntN(5) {
	case 0:
		r.Sampling = sample.Params{Temperature: 0.7, TopP: 0.9, Seed: rng.Uint64(), LogProbs: 2}
	case 1:
		r.Sampling = sample.Params{RepeatPenalty: 1.3, FrequencyPenalty: 0.2, LogProbs: 1}
	case 2:
		r.Sampling = sample.Params{Temperature: 1, Mirostat: sample.Mirostat{Tau: 3}, Seed: rng.Uint64()}
	}
	if rng.IntN(4) == 0 {
		r.Constrain = m.letters()
	}
	if rng.IntN(3) == 0 {
		r.Stop = m.tokens(rng.Uint64(), 3)
	}
	if rng.IntN(6) == 0 {
		r.Speculate = SpeculateOff
	}
	return r
}

// TestSpeculationChangesNothing draws requests with all that shapes an answer, runs
// them in few slots with little memory, cancels some, and compares tokens, the logits
// that they came from, and log-probabilities, bit for bit, with those of each request
// alone and without drafts.
func TestSpeculationChangesNothing(t *testing.T) {
	for _, name := range positional {
		t.Run(name, func(t *testing.T) {
			m := open(t, name)
			rng := rand.New(rand.NewPCG(31, 7))
			right := map[string][]int32{}
			accepted := map[string]int{}
			for _, who := range []string{"lookup", "mixed", "right", "wrong"} {
				rounds := 3 // with much memory and little, and with as many drafts as pay
				if await.Long() {
					rounds = 8
				}
				for round := range rounds {
					cfg := Config{Slots: 1 + rng.IntN(4), PromptRows: 24, Drafts: 1 + rng.IntN(6)}
					if round%2 == 1 {
						cfg.CacheBytes = m.budget(14)
					}
					if round == 2 {
						cfg.Drafts = 0 // as many as pay
					}
					s := m.still(small, cfg)
					s.drafts.propose = drafters(rng, m.Config.Vocab, right)[who]
					var answers, want []*answer
					for i := range 7 {
						r := m.speculative(rng, i)
						alone := r
						alone.Speculate = SpeculateOff
						w := m.alone(alone)
						right[r.ID] = w.tokens
						answers, want = append(answers, submit(t, s, r)), append(want, w)
					}
					ended := false
					turns(t, s, func() {
						if a := answers[rng.IntN(len(answers))]; !ended && rng.IntN(12) == 0 {
							ended = true
							a.st.Close()
						}
					}, answers...)
					for i, a := range answers {
						if a.st.cancelled.Load() != nil && a.st.Err() != nil {
							continue
						}
						same(t, fmt.Sprintf("%s, round %d, request %d", who, round, i), a, want[i])
						for k, w := range want[i].tops {
							if g := a.tops[k]; g.LogProb != w.LogProb || !slices.Equal(g.Top, w.Top) {
								t.Errorf("%s: request %d: alternatives of token %d differ", who, i, k)
							}
						}
					}
					for _, a := range answers {
						accepted[who] += a.st.accepted
					}
				}
			}
			for _, who := range []string{"lookup", "right", "mixed"} {
				if accepted[who] == 0 && (who != "lookup" || name != "mistral_window") { // it never repeats itself
					t.Errorf("no draft of %q was accepted", who)
				}
			}
		})
	}
}

// TestRightDraftsSaveSteps: when all drafts are right an answer takes as many steps as
// its tokens need, and not one more.
func TestRightDraftsSaveSteps(t *testing.T) {
	m := open(t, "llama3")
	r := Request{ID: "a", Prompt: m.tokens(1, 20), MaxTokens: 41, Speculate: SpeculateLookup}
	want := m.alone(r)
	s := m.still(small, Config{Slots: 2, Drafts: 7})
	s.drafts.propose = drafters(nil, 0, map[string][]int32{"a": want.tokens})["right"]
	steps := 0
	s.delivery.watch = func(p StepInfo) {
		if steps++; p.Drafted != p.Accepted || (p.Drafted > 0) != (steps > 1) || !p.Decode && steps > 1 {
			t.Errorf("step %d: %+v", steps, p)
		}
	}
	a := submit(t, s, r)
	turns(t, s, nil, a)
	same(t, "right", a, want)
	if steps != 1+5 { // one for the prompt; then 8 tokens a step
		t.Errorf("%d steps, want 6", steps)
	}
	if u := a.st.Usage(); u.Drafted != 35 || u.Accepted != 35 {
		t.Errorf("%+v, want 35 drafted and accepted", u)
	}
}

// TestRejectedRowsAreGone: after every step of an adversary the pages in use, their
// number and the bytes of all that are full are those of a scheduler that never
// drafted.
func TestRejectedRowsAreGone(t *testing.T) {
	for _, name := range positional {
		t.Run(name, func(t *testing.T) {
			m := open(t, name)
			rng := rand.New(rand.NewPCG(3, 3))
			r := Request{ID: "a", Prompt: m.tokens(5, 21), MaxTokens: 60, Speculate: SpeculateLookup}
			plain, drafted := m.still(small, Config{Slots: 1}), m.still(small, Config{Slots: 1, Drafts: 5})
			want := m.alone(r)
			drafted.drafts.propose = drafters(rng, m.Config.Vocab, map[string][]int32{"a": want.tokens})["mixed"]
			d := submit(t, drafted, r)
			r.Speculate = SpeculateOff
			p := submit(t, plain, r)
			plain.turn()
			drafted.turn()
			a, b := plain.admission.slots[0], drafted.admission.slots[0]
			rejected := false
			for !d.ended() {
				drafted.turn()
				rejected = rejected || drafted.batch.info.Accepted < drafted.batch.info.Drafted
				for a.done < b.done {
					plain.turn()
				}
				if a.done != b.done || usedBytes(plain) != usedBytes(drafted) {
					t.Fatalf("%d positions in %d bytes, want %d in %d", b.done, usedBytes(drafted), a.done, usedBytes(plain))
				}
				for i := range a.states {
					if x, y := a.states[i].Seq(), b.states[i].Seq(); x.Len() != y.Len() || x.Oldest() != y.Oldest() {
						t.Fatalf("state %d holds %d to %d, want %d to %d", i, y.Oldest(), y.Len(), x.Oldest(), x.Len())
					}
					if k, ok := differ(plain, i, a, b); ok {
						t.Fatalf("state %d differs at position %d of %d", i, k, a.done)
					}
				}
			}
			turns(t, plain, nil, p)
			same(t, "drafted", d.collect(), want)
			if !rejected {
				t.Error("no draft was rejected")
			}
		})
	}
}

// differ returns the first position of a whole page at which a state of two slots
// differs: where in a page a position is, is not for this test to know.
func differ(s *Scheduler, state int, a, b *slot) (at int, ok bool) {
	tokens := int(s.storage.pools[state].Descriptor().PageTokens)
	x, y := a.states[state].Pages(), b.states[state].Pages()
	for p := range a.done / tokens {
		if !slices.Equal(x[p], y[p]) {
			return p * tokens, true
		}
	}
	return 0, false
}

// TestSpeculationDoesNotAllocate: steps with drafts allocate nothing, be they accepted
// or rejected.
func TestSpeculationDoesNotAllocate(t *testing.T) {
	m := open(t, "llama3")
	rng := rand.New(rand.NewPCG(1, 2))
	n := 0.0
	for range 3 { // the runtime itself allocates now and then
		s := m.still(small, Config{Slots: 3, Drafts: 3})
		propose := drafters(rng, m.Config.Vocab, nil)["wrong"]
		s.drafts.propose = func(sl *slot, ids []int32) ([]int32, int) {
			if ids, kind := lookUp(sl, ids); len(ids) > 0 {
				return ids, kind
			}
			return propose(sl, ids)
		}
		for i := range 2 {
			a := submit(t, s, Request{Prompt: m.repeating(rng), MaxTokens: 190, Speculate: SpeculateLookup})
			a.st.req.OnLogits = nil // the test's own allocates
			a.st.req.Sampling.Temperature = float32(i)
		}
		for range 8 {
			s.turn()
		}
		n = await.Allocs(1, func() {
			for range 20 {
				if !s.turn() || s.drafts.rows == 0 {
					t.Fatal("not a step with drafts")
				}
			}
		})
		if n == 0 {
			return
		}
	}
	t.Errorf("%g allocations in 20 steps", n)
}

// TestNoDraftsBesidePrompts: while a prompt is computed its rows come first, and
// answers have one each.
func TestNoDraftsBesidePrompts(t *testing.T) {
	m := open(t, "llama3")
	r := Request{ID: "a", Prompt: m.tokens(1, 20), MaxTokens: 100, Speculate: SpeculateLookup}
	s := m.still(small, Config{Slots: 2, Drafts: 3, PromptRows: 4})
	s.drafts.propose = drafters(nil, 0, map[string][]int32{"a": m.alone(r).tokens})["right"]
	a := submit(t, s, r)
	for range 3 {
		s.turn()
	}
	b := submit(t, s, Request{Prompt: m.tokens(2, 40), MaxTokens: 1})
	beside := 0
	turns(t, s, func() {
		if len(s.batch.step.Runs) == 2 {
			beside++
			if s.drafts.rows > 0 {
				t.Error("drafts beside a prompt")
			}
		}
	}, a, b)
	if beside < 10 {
		t.Errorf("%d steps with both, want 10", beside)
	}
}

// TestSpeculationOffWithStates: a model whose states keep no positions apart makes no
// drafts and says why.
func TestSpeculationOffWithStates(t *testing.T) {
	m := open(t, "qwen3_next")
	s := m.still(small, Config{Drafts: 3})
	r := Request{ID: "a", Prompt: m.tokens(1, 20), MaxTokens: 20, Speculate: SpeculateLookup}
	a := submit(t, s, r)
	turns(t, s, nil, a)
	same(t, "hybrid", a, m.alone(r))
	why := s.Why("a")
	if n := a.st.drafted; n > 0 || !slices.ContainsFunc(why, func(d Decision) bool { return d.Action == actionPlain && d.Rule == byState }) {
		t.Errorf("%d drafted; %v", n, why)
	}
}

// TestWhyDrafts reads when drafts began to pay, when they ceased to, and how many came
// true.
func TestWhyDrafts(t *testing.T) {
	m := open(t, "llama3")
	r := Request{ID: "a", Prompt: m.tokens(1, 20), MaxTokens: 60, Speculate: SpeculateAuto}
	s := m.still(small, Config{Slots: 1})
	s.drafts.propose = drafters(nil, 0, map[string][]int32{"a": m.alone(r).tokens})["right"]
	a := submit(t, s, r)
	for i := 0; !a.ended(); i++ {
		for rows := range s.drafts.gain.took { // as on a machine where rows cost nothing, then on one where they cost all
			took := time.Duration(1e6)
			if i > 4 {
				took *= time.Duration(rows)
			}
			s.drafts.gain.took[rows] = timing{took, s.steps.Load()}
		}
		s.drafts.gain.most = len(s.drafts.gain.took) - 1
		s.turn()
	}
	a.collect()
	var got []string
	for _, d := range s.Why("a") {
		if d.Action == actionDraft || d.Action == actionPlain {
			got = append(got, d.String())
		}
	}
	want := []string{
		"a: draft slot 1 by rule gain: a token is expected to take 410µs with drafts, 1ms without",
		"a: plain slot 1 by rule gain: a token is expected to take 1.02ms with drafts, 1ms without",
		"a: draft slot 1 by rule drafts: 27 of 27 drafted tokens were accepted",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
