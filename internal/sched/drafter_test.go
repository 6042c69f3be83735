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

// drafted draws a request whose drafts a model makes, alone or beside look-up.
func (m *model) drafted(rng *rand.Rand, i int) Request {
	r := m.speculative(rng, i)
	if r.Speculate != SpeculateOff && rng.IntN(4) > 0 {
		r.Speculate = []Speculation{SpeculateDraft, SpeculateAuto}[rng.IntN(2)]
	}
	return r
}

// continuations are the greedy continuations of a draft model, by what they continue.
type continuations struct {
	m    *model
	made map[string][]int32
}

func (c *continuations) after(tokens []int32, n int) []int32 {
	key := fmt.Sprint(tokens)
	if len(c.made[key]) < n {
		c.made[key] = c.m.alone(Request{Prompt: tokens, MaxTokens: modelDrafts}).tokens
	}
	return c.made[key][:n]
}

// checkShadows fails when a shadow has other positions than tokens, or when what was
// drafted in the last step is not what the draft model says after the sequence by itself.
func checkShadows(t *testing.T, s *Scheduler, say *continuations) (drafted int) {
	t.Helper()
	for _, sl := range s.admission.slots {
		h := sl.shadow
		for i, x := range h.states {
			if x.Len() != len(h.held) {
				t.Fatalf("slot %d: state %d has %d positions of %d tokens", sl.id, i, x.Len(), len(h.held))
			}
		}
	}
	if say == nil || s.drafts.gain.spent == 0 {
		return 0
	}
	for _, sl := range s.drafts.slots {
		if h, d := sl.shadow, &sl.draft; d.kind == byModel && h.want > 0 {
			before, got := sl.tokens[:d.base:d.base], d.buf[:h.want]
			if want := say.after(before, h.want); !slices.Equal(got, want) {
				t.Fatalf("slot %d: drafted %v after %d tokens, want %v", sl.id, got, len(before), want)
			}
			if want := join(before, got[:h.want-1]); !slices.Equal(h.held, want) { // the last draft was not fed
				t.Fatalf("slot %d: the shadow has %v, want %v", sl.id, h.held, want)
			}
			drafted += h.want
		}
	}
	return drafted
}

// TestDraftModelChangesNothing draws requests with all that shapes an answer, some with
// equal prompts, runs them in few slots with little memory for both models, cancels some,
// and compares tokens, logits and log-probabilities, bit for bit, with those of each
// request alone and without drafts. Every draft is what the draft model says by itself.
func TestDraftModelChangesNothing(t *testing.T) {
	for i, name := range positional {
		others := 2
		if await.Long() {
			others = 3
		}
		for _, by := range []string{name, positional[(i+1)%len(positional)], positional[(i+2)%len(positional)]}[:others] {
			t.Run(name+" by "+by, func(t *testing.T) {
				m, draft := open(t, name), open(t, by)
				say := &continuations{draft, map[string][]int32{}}
				rng := rand.New(rand.NewPCG(uint64(41+i), uint64(len(by))))
				drafted, ended := 0, 0
				rounds, requests := 3, 4 // with much memory and little, and with as many drafts as pay
				if await.Long() {
					rounds, requests = 8, 7
				}
				for round := range rounds {
					cfg := Config{Slots: 1 + rng.IntN(4), PromptRows: 24, Drafts: 1 + rng.IntN(6), Draft: draft.executor(small)}
					if round%2 == 1 {
						cfg.CacheBytes, cfg.DraftBytes = m.budget(14), draft.budget(8+rng.IntN(12))
					}
					if round == 2 {
						cfg.Drafts = 0 // as many as pay
					}
					s := m.still(small, cfg)
					var answers, want []*answer
					var prompt []int32
					for i := range requests {
						r := m.drafted(rng, i)
						if prompt != nil && rng.IntN(3) == 0 { // forks, and continued conversations
							r.Prompt = join(prompt, m.tokens(rng.Uint64(), rng.IntN(5)))
						}
						prompt = r.Prompt
						alone := r
						alone.Speculate = SpeculateOff
						answers, want = append(answers, submit(t, s, r)), append(want, m.alone(alone))
					}
					turns(t, s, func() {
						if a := answers[rng.IntN(len(answers))]; rng.IntN(40) == 0 {
							a.st.Close()
						}
						drafted += checkShadows(t, s, say)
					}, answers...)
					for i, a := range answers {
						if a.st.cancelled.Load() != nil && a.st.Err() != nil {
							continue
						}
						ended++
						same(t, fmt.Sprintf("round %d, request %d", round, i), a, want[i])
						for k, w := range want[i].tops {
							if g := a.tops[k]; g.LogProb != w.LogProb || !slices.Equal(g.Top, w.Top) {
								t.Errorf("request %d: alternatives of token %d differ", i, k)
							}
						}
					}
				}
				if drafted == 0 || ended == 0 {
					t.Errorf("%d tokens drafted, %d answers", drafted, ended)
				}
			})
		}
	}
}

// TestEqualDraft: the drafts of a model that is the target itself are all right, so that
// a greedy answer takes as many steps as its tokens need, and not one more.
func TestEqualDraft(t *testing.T) {
	for _, name := range positional {
		t.Run(name, func(t *testing.T) {
			m := open(t, name)
			r := Request{ID: "a", Prompt: m.tokens(1, 20), MaxTokens: 41, Speculate: SpeculateDraft}
			want := m.alone(r)
			s := m.still(small, Config{Slots: 2, Drafts: 7, Draft: m.executor(small)})
			steps := 0
			s.delivery.watch = func(p StepInfo) {
				if steps++; p.Drafted != p.Accepted || (p.Drafted > 0) != (steps > 1) || (p.Drafting > 0) != (steps > 1) {
					t.Errorf("step %d: %+v", steps, p)
				}
			}
			a := submit(t, s, r)
			turns(t, s, func() { checkShadows(t, s, nil) }, a)
			same(t, "drafted", a, want)
			if steps != 1+5 { // one for the prompt; then 8 tokens a step
				t.Errorf("%d steps, want 6", steps)
			}
			if u := a.st.Usage(); u.Drafted != 35 || u.Accepted != 35 || u.ModelDrafted != 35 || u.ModelAccepted != 35 {
				t.Errorf("%+v, want 35 drafted and accepted, all by the model", u)
			}
			if why := fmt.Sprint(s.Why("a")); !strings.Contains(why, "by the draft model by rule drafts: 35 of 35 drafted tokens were accepted") {
				t.Error(why)
			}
		})
	}
}

// TestDraftSampled: a sampled answer is that of plain decoding with the same seed, since
// its own sampler chooses at every position; drafts of a model that is the target come
// true as often as its likeliest token is chosen.
func TestDraftSampled(t *testing.T) {
	m := open(t, "llama3")
	accepted := 0
	for seed := range uint64(8) {
		r := Request{Prompt: m.tokens(seed, 12), MaxTokens: 50, Sampling: sample.Params{Temperature: 0.5, TopK: 4, Seed: seed}, Speculate: SpeculateDraft}
		plain := r
		plain.Speculate = SpeculateOff
		s := m.still(small, Config{Slots: 1, Drafts: 4, Draft: m.executor(small)})
		a := submit(t, s, r)
		turns(t, s, nil, a)
		same(t, fmt.Sprint("seed ", seed), a, m.alone(plain))
		if u := a.st.Usage(); u.Accepted == u.Drafted {
			t.Errorf("seed %d: all of %d drafts were accepted", seed, u.Drafted)
		} else {
			accepted += u.Accepted
		}
	}
	if accepted == 0 {
		t.Error("no draft was accepted")
	}
}

// TestDraftNotAllocating: steps with drafts of a model allocate nothing, be they accepted
// or rejected.
func TestDraftNotAllocating(t *testing.T) {
	for _, by := range []string{"llama3", "qwen3"} {
		m, draft := open(t, "llama3"), open(t, by)
		n := 0.0
		for range 3 { // the runtime itself allocates now and then
			s := m.still(small, Config{Slots: 3, Drafts: 3, Draft: draft.executor(small)})
			for i := range 2 {
				a := submit(t, s, Request{Prompt: m.tokens(uint64(i), 20), MaxTokens: 190, Speculate: SpeculateDraft})
				a.st.req.OnLogits = nil // the test's own allocates
				a.st.req.Sampling.Temperature = float32(i)
			}
			for range 8 {
				s.turn()
			}
			n = await.Allocs(1, func() {
				for range 12 {
					if !s.turn() || s.drafts.rows == 0 {
						t.Fatal("not a step with drafts")
					}
				}
			})
			if n == 0 {
				break
			}
		}
		if n > 0 {
			t.Errorf("%s: %g allocations in 12 steps", by, n)
		}
	}
}

// TestDraftReadsOnce: a prompt that begins like one the draft model has seen, in the same
// slot or another, is read from there on.
func TestDraftReadsOnce(t *testing.T) {
	m := open(t, "llama3")
	s := m.still(small, Config{Slots: 2, Drafts: 3, Draft: m.executor(small)})
	system := m.tokens(1, 64)
	read := func(r Request) (rows int) {
		r.Speculate, r.MaxTokens = SpeculateDraft, 12
		a := submit(t, s, r)
		turns(t, s, func() {
			for _, sl := range s.admission.slots {
				if sl.st == a.st && s.drafts.gain.spent > 0 {
					rows += sl.shadow.reads
				}
			}
		}, a)
		return rows
	}
	if n := read(Request{Prompt: join(system, m.tokens(2, 8))}); n < 72 {
		t.Errorf("%d rows of a prompt of 72 were read", n)
	}
	if n := read(Request{Prompt: join(system, m.tokens(3, 8))}); n > 8+12+4 {
		t.Errorf("%d rows of a prompt of which 64 tokens were seen", n)
	}
	first := submit(t, s, Request{Prompt: join(system, m.tokens(3, 8)), MaxTokens: 60, Speculate: SpeculateDraft})
	for range 6 {
		s.turn()
	}
	if n := read(Request{Prompt: join(system, m.tokens(4, 8))}); n > 8+12+4 {
		t.Errorf("%d rows of a prompt of which another slot has 64 tokens", n)
	}
	first.st.Close()
}

// TestDraftRefused: a draft model that could not take rejected tokens back is refused
// when the scheduler is made, and so is one whose steps are too small; a target that
// cannot makes no drafts.
func TestDraftRefused(t *testing.T) {
	m, hybrid := open(t, "llama3"), open(t, "qwen3_next")
	refused := func(m, draft *model, d Config, ec int, want string) {
		t.Helper()
		x := m.executor(small)
		defer x.Close()
		cfg := small
		cfg.MaxLogits = ec
		d.Draft = draft.executor(cfg)
		defer d.Draft.Close()
		if _, err := newScheduler(x, d); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	refused(m, hybrid, Config{}, 8, "attention layers alone")
	refused(m, m, Config{Slots: 4}, 3, "want 4 or more")

	s := hybrid.still(small, Config{Drafts: 3, Draft: m.executor(small)})
	r := Request{ID: "a", Prompt: m.tokens(1, 20), MaxTokens: 20, Speculate: SpeculateDraft}
	a := submit(t, s, r)
	turns(t, s, nil, a)
	same(t, "hybrid", a, hybrid.alone(r))
	if a.st.drafted > 0 || !strings.Contains(fmt.Sprint(s.Why("a")), "keep no positions apart") {
		t.Errorf("%d drafted; %v", a.st.drafted, s.Why("a"))
	}

	s = m.still(small, Config{Drafts: 3})
	a = submit(t, s, r)
	turns(t, s, nil, a)
	if a.st.drafted > 0 || !strings.Contains(fmt.Sprint(s.Why("a")), "there is no draft model") {
		t.Errorf("%d drafted; %v", a.st.drafted, s.Why("a"))
	}
}

// TestDraftFails: when a step of the draft model fails, answers go on without, and say so.
func TestDraftFails(t *testing.T) {
	m := open(t, "llama3")
	var warned []error
	s := m.still(small, Config{Slots: 2, Drafts: 3, Draft: m.executor(small), Warn: func(_ string, err error) { warned = append(warned, err) }})
	var answers, want []*answer
	for i := range 3 {
		r := Request{ID: fmt.Sprint("f", i), Prompt: m.tokens(uint64(i), 20), MaxTokens: 40, Speculate: SpeculateDraft}
		answers, want = append(answers, submit(t, s, r)), append(want, m.alone(r))
	}
	turns(t, s, func() {
		if answers[0].st.drafted > 0 && s.drafts.model.err == nil {
			s.drafts.model.step.Types = []int32{-1, -1} // of no row
		}
	}, answers...)
	for i, a := range answers {
		same(t, fmt.Sprint("request ", i), a, want[i])
		if why := fmt.Sprint(s.Why(a.st.req.ID)); !strings.Contains(why, "or it failed") {
			t.Errorf("request %d: %s", i, why)
		}
	}
	if len(warned) != 1 || answers[0].st.drafted == 0 || answers[2].st.drafted > 0 {
		t.Errorf("%v; %d and %d drafted", warned, answers[0].st.drafted, answers[2].st.drafted)
	}
	if n := s.drafts.model.heldBytes(); n == 0 || usedBytes(&Scheduler{storage: storage{pools: s.drafts.model.pools}}) != 0 {
		t.Errorf("%d bytes are held", n)
	}
}

// TestDraftDepth: the number of drafted tokens is the one with the least time for a token
// of all, with the time of the drafter; none if none pays.
func TestDraftDepth(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	none, some := 0, 0
	for round := range 400 {
		const rows = 40
		answers := 1 + rng.IntN(3)
		g := gain{times: times{took: make([]timing, rows+1)}}
		dr := drafter{costs: times{took: make([]timing, rows+1)}}
		row, drafting := rng.Float64()*rng.Float64(), rng.Float64()*rng.Float64() // of a step
		for n := 1; n <= rows; n++ {
			g.observe(n, time.Duration(1e6*(1+row*float64(n-1))), 1)
			dr.costs.observe(n, time.Duration(1e6*drafting), 1)
		}
		chances := make([]float64, answers)
		for i := range answers {
			sl := &slot{shadow: &shadow{most: 1 + rng.IntN(modelDrafts)}}
			sl.draft.acceptance[byModel] = acceptance{float32(rng.IntN(40)), 40}
			chances[i] = sl.draft.acceptance[byModel].chance()
			dr.slots = append(dr.slots, sl)
		}
		depth, o := dr.plan(&g, answers, rows-answers, 1)
		each := func(depth int) (float64, bool) {
			tokens, n, spent := float64(answers), answers, 0.0
			for i, c := range chances {
				next := 1.0
				for k := 1; k <= min(depth, dr.slots[i].shadow.most); k++ {
					if next *= c; next < leastAcceptance {
						break
					}
					tokens, n = tokens+next, n+1
				}
			}
			if n > rows {
				return 0, false
			}
			for range depth {
				spent += 1e6 * drafting
			}
			alone := float64(g.took[answers].d)
			took := float64(g.took[n].d) + spent
			return took / tokens, answers == 1 || took <= 2*alone
		}
		got, _ := each(depth)
		for k := range modelDrafts + 1 {
			if other, ok := each(k); ok && other*leastGain < got*0.999 {
				t.Errorf("round %d: %d drafts take %.0f ns for a token, %d take %.0f", round, depth, got, k, other)
			}
		}
		if depth == 0 {
			none++
		} else if some++; float64(o.with)*0.999 > got || o.with >= o.without {
			t.Errorf("round %d: estimate %v of %.0f", round, o, got)
		}
	}
	if none < 50 || some < 50 {
		t.Errorf("%d rounds without drafts, %d with", none, some)
	}
}

// TestDraftIsTriedAgain: a drafter that never comes true is given up, within a request
// and for those to come, and is tried again by and by.
func TestDraftIsTriedAgain(t *testing.T) {
	var h acceptance
	for range 100 {
		h.note(false)
	}
	if c := h.chance(); c > 0.1 {
		t.Errorf("a chance of %.2f after 100 rejected tokens", c)
	}
	p := h.prior()
	if c := p.chance(); c > 0.2 {
		t.Errorf("a request begins with a chance of %.2f", c)
	}
	for range 60 {
		h.decay()
	}
	if c := h.chance(); c < 0.5 {
		t.Errorf("a chance of %.2f after 60 requests", c)
	}
	sl := &slot{shadow: &shadow{}}
	x := &sl.draft.acceptance[byModel]
	*x = acceptance{0, 40}
	for range 8 * idleTokens {
		sl.declineDrafts(estimate{})
	}
	if c := x.chance(); c < 0.5 {
		t.Errorf("a chance of %.2f after %d tokens without drafts", c, 8*idleTokens)
	}
}

// TestWhyDraftModel reads when the drafts of a model began to pay, and when they ceased
// to.
func TestWhyDraftModel(t *testing.T) {
	m := open(t, "llama3")
	r := Request{ID: "a", Prompt: m.tokens(1, 20), MaxTokens: 60, Speculate: SpeculateDraft}
	s := m.still(small, Config{Slots: 1, Draft: m.executor(small)})
	a := submit(t, s, r)
	for i := 0; !a.ended(); i++ {
		for rows := range s.drafts.gain.took { // as on a machine where rows and drafts cost nothing, then on one where they cost all
			took := time.Duration(1e6)
			if i > 4 {
				took *= time.Duration(rows)
			}
			s.drafts.gain.took[rows] = timing{took, s.steps.Load()}
		}
		for rows := range s.drafts.model.costs.took {
			s.drafts.model.costs.took[rows] = timing{1, s.steps.Load()}
		}
		s.drafts.gain.most, s.drafts.model.costs.most = len(s.drafts.gain.took)-1, len(s.drafts.model.costs.took)-1
		s.turn()
	}
	same(t, "drafted", a.collect(), m.alone(r))
	var got []string
	for _, d := range s.Why("a") {
		if d.Action == actionDraft || d.Action == actionPlain {
			line := d.String()
			if d.Rule == byGain {
				line, _, _ = strings.Cut(line, " a token")
			}
			got = append(got, line)
		}
	}
	u := a.st.Usage()
	want := []string{
		"a: draft slot 1 by the draft model by rule gain:",
		"a: plain slot 1 by the draft model by rule gain:",
		fmt.Sprintf("a: draft slot 1 by the draft model by rule drafts: %d of %[1]d drafted tokens were accepted", u.ModelDrafted),
	}
	if !slices.Equal(got, want) || u.ModelDrafted == 0 {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
