package sched

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"atenia/internal/exec"
	"atenia/internal/golden"
	"atenia/internal/golden/await"
	"atenia/internal/model/compile"
	"atenia/internal/model/file"
	"atenia/tensor"
)

// early returns a model with a program of its first layers.
func early(t testing.TB, name string, layers int) *model {
	t.Helper()
	m := open(t, name)
	d, err := file.Open(filepath.Join(golden.Root(t), "testdata", "golden", "parity", name))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	e, err := compile.Compile(d, compile.Options{Early: layers})
	if err != nil {
		t.Fatal(err)
	}
	return &model{t, e, m.weights}
}

// TestEarlyLayersChangeNothing is TestDraftModelChangesNothing with the first layers of
// the model itself: answers and logits are those without drafts, and an ended sequence
// keeps no page for a draft.
func TestEarlyLayersChangeNothing(t *testing.T) {
	for i, name := range positional {
		t.Run(name, func(t *testing.T) {
			m := early(t, name, 1+i%2)
			rng := rand.New(rand.NewPCG(uint64(61+i), 2))
			drafted, ended := 0, 0
			for round := range 5 {
				cfg := Config{Slots: 1 + rng.IntN(4), PromptRows: 24, Drafts: 1 + rng.IntN(6), Early: true}
				if round%2 == 1 {
					cfg.CacheBytes = m.budget(14)
				}
				if round == 2 {
					cfg.Drafts = 0 // as many as pay
				}
				s := m.still(small, cfg)
				var answers, want []*answer
				for i := range 7 {
					r := m.drafted(rng, i)
					alone := r
					alone.Speculate = SpeculateOff
					answers, want = append(answers, submit(t, s, r)), append(want, m.alone(alone))
				}
				turns(t, s, func() {
					if a := answers[rng.IntN(len(answers))]; rng.IntN(40) == 0 {
						a.st.Close()
					}
					for _, sl := range s.admission.slots {
						for i, x := range sl.states {
							if sl.idle() && s.storage.pools[i].Persistent() && x.Len() > sl.done {
								t.Fatalf("slot %d holds %d positions of %d tokens", sl.id, x.Len(), sl.done)
							}
						}
					}
				}, answers...)
				for i, a := range answers {
					drafted += a.st.byModel.drafted
					if a.st.cancelled.Load() != nil && a.st.Err() != nil {
						continue
					}
					ended++
					same(t, fmt.Sprintf("round %d, request %d", round, i), a, want[i])
				}
			}
			if drafted == 0 || ended == 0 {
				t.Errorf("%d tokens drafted, %d answers", drafted, ended)
			}
		})
	}
}

// silent returns the model with layers that add nothing to the residual stream, from the
// first of these on: all layers then say what those before say.
func (m *model) silent(from, layers int) *model {
	w := maps.Clone(m.weights)
	for i := from; i < layers; i++ {
		for _, name := range []string{"attn_o", "ffn_down"} {
			name = fmt.Sprintf("blk.%d.%s", i, name)
			v, ok := w[name]
			if !ok {
				m.t.Fatalf("no weight %s", name)
			}
			n, _ := v.Shape.Size()
			w[name] = tensor.FromF32(v.Shape, make([]float32, n))
		}
	}
	return &model{m.t, m.Model, w}
}

// TestEarlyLayersDraft: in a model whose other layers add nothing, every draft of the early
// ones is right, so that they have read all that came before, and an answer takes as many
// steps as its tokens need; steps with such drafts allocate nothing.
func TestEarlyLayersDraft(t *testing.T) {
	for _, name := range []string{"llama3", "qwen3"} {
		m := early(t, name, 2).silent(2, 3)
		r := Request{ID: "a", Prompt: m.tokens(1, 20), MaxTokens: 41, Speculate: SpeculateDraft}
		want := m.alone(r)
		s := m.still(small, Config{Slots: 2, Drafts: 7, Early: true})
		steps := 0
		s.delivery.watch = func(p StepInfo) {
			if steps++; p.Drafted != p.Accepted || (p.Drafted > 0) != (steps > 1) {
				t.Errorf("%s: step %d: %+v", name, steps, p)
			}
		}
		a := submit(t, s, r)
		turns(t, s, nil, a)
		same(t, name, a, want)
		if steps != 1+5 { // one for the prompt; then 8 tokens a step
			t.Errorf("%s: %d steps, want 6", name, steps)
		}
		if why := fmt.Sprint(s.Why("a")); !strings.Contains(why, "by early layers by rule drafts: 35 of 35 drafted tokens were accepted") {
			t.Errorf("%s: %s", name, why)
		}
		s.delivery.watch = nil
		n := 0.0
		for range 3 { // the runtime itself allocates now and then
			a = submit(t, s, Request{Prompt: m.tokens(2, 20), MaxTokens: 200, Speculate: SpeculateDraft})
			a.st.req.OnLogits = nil // the test's own allocates
			for range 4 {
				s.turn()
			}
			n = await.Allocs(1, func() {
				for range 5 {
					if !s.turn() || s.drafts.rows == 0 {
						t.Fatal("not a step with drafts")
					}
				}
			})
			a.st.Close()
			if n == 0 {
				break
			}
		}
		if n > 0 {
			t.Errorf("%s: %g allocations in 5 steps", name, n)
		}
	}
}

// TestEarlyRefused: more layers than there are before the last, and an executor that has
// no such program.
func TestEarlyRefused(t *testing.T) {
	d, err := file.Open(filepath.Join(golden.Root(t), "testdata", "golden", "parity", "llama3"))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := compile.Compile(d, compile.Options{Early: 3}); err == nil || !strings.Contains(err.Error(), "1 to 2, fewer than the model has") {
		t.Errorf("%v", err)
	}
	m := open(t, "llama3")
	s := m.still(small, Config{Drafts: 3, Early: true})
	r := Request{Prompt: m.tokens(1, 20), MaxTokens: 20, Speculate: SpeculateDraft}
	a := submit(t, s, r)
	turns(t, s, nil, a)
	same(t, "without a program", a, m.alone(r))
	if a.st.drafted > 0 {
		t.Errorf("%d drafted", a.st.drafted)
	}
}

// TestDraftSwap: weights that move give the scheduler another executor between two steps;
// drafts go on, of a draft model and of early layers, while the executor has a program of
// them.
func TestDraftSwap(t *testing.T) {
	for _, name := range []string{"llama3", "gemma3"} {
		m, plain := early(t, name, 1), open(t, name)
		for _, by := range []string{"model", "early"} {
			cfg := Config{Slots: 2, Drafts: 3}
			if cfg.Early = by == "early"; !cfg.Early {
				cfg.Draft = plain.executor(small)
			}
			n, without := 0, 0
			cfg.Between = func(p *Pause) {
				if n++; n%4 > 0 {
					return
				}
				x := m.executor(small)
				if n%8 == 0 { // as while weights are streamed
					x.Close()
					x = plain.executor(small)
				}
				if err := p.Swap(func() (*exec.Executor, error) { return x, nil }); err != nil {
					t.Error(err)
				}
			}
			s := m.still(small, cfg)
			var answers, want []*answer
			for i := range 3 {
				r := Request{Prompt: m.tokens(uint64(i), 20), MaxTokens: 40, Speculate: SpeculateDraft}
				answers, want = append(answers, submit(t, s, r)), append(want, m.alone(r))
			}
			drafts := 0
			turns(t, s, func() {
				s.pause()
				if drafts += s.drafts.rows; s.drafts.rows == 0 {
					without++
				}
			}, answers...)
			for i, a := range answers {
				same(t, fmt.Sprintf("%s by %s, request %d", name, by, i), a, want[i])
			}
			if drafts == 0 || without == 0 || s.drafts.model.err != nil {
				t.Errorf("%s by %s: %d drafts, %d steps without, %v", name, by, drafts, without, s.drafts.model.err)
			}
		}
	}
}
