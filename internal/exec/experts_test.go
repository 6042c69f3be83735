package exec_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"atenia/internal/engine/residence"
	"atenia/internal/exec"
	"atenia/internal/golden/await"
	"atenia/internal/memory/pack"
	"atenia/internal/model/compile"
	"atenia/internal/model/file"
)

// mixtures have experts: in stacked tensors of a GGUF file, fused two by two, and in tensors of their
// own in a folder, beside a shared one.
var mixtures = []string{"gguf/models/qwen3moe-q4_k_m.gguf", "parity/qwen2_moe", "parity/deepseek_v3", "parity/granitemoeshared"}

// TestExpertsEqualHeld: for random budgets from the floor to nearly everything the
// logits are the same bytes, for prompts in chunks, single tokens and batches.
func TestExpertsEqualHeld(t *testing.T) {
	for _, name := range mixtures {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := casePath(t, name)
			whole := openCase(t, name, compile.Options{})
			tokens := randomTokens(21, 41, whole.Config.Vocab)
			want := whole.lane(t, small).all(tokens, len(tokens))
			least, most := floor(t, path)
			rng := rand.New(rand.NewPCG(5, 6))
			cached, rings := 0, 0
			budgets := 4
			if await.Long() {
				budgets = 8
			}
			for i := range budgets {
				ram := least
				if i > 0 {
					ram += rng.Int64N(max(1, most-least))
				}
				cfg := small
				cfg.Threads = 1 + i%3
				m, cfg, r := streamed(t, path, cfg, ram)
				if r.Stream.Experts == nil {
					continue
				}
				cached++
				if r.Stream.Ring != nil {
					rings++
				}
				l := m.lane(t, cfg)
				what := fmt.Sprintf("%d bytes of %d", ram, most)
				sameRows(t, what, l.all(tokens, 23, 1), want)
				sameRows(t, what+", chunks", l.all(tokens, 7), want)
				batch(t, l, tokens, want)
				r.Stream.Experts.SetWhole(true)
				sameRows(t, what+", whole layers", l.all(tokens, 30, 1), want)
				if s := r.Experts(); s.Misses == 0 || s.Read == 0 {
					t.Errorf("%s: %+v", what, s)
				}
			}
			if cached == 0 || rings == 0 {
				t.Errorf("%d budgets cached experts, %d streamed others", cached, rings)
			}
		})
	}
}

// TestExpertsPinned: experts of one layer in memory, and those of others on the
// disk, give the same results; so does a cache of all, which reads each expert once.
func TestExpertsPinned(t *testing.T) {
	for _, name := range mixtures {
		whole := openCase(t, name, compile.Options{})
		tokens := randomTokens(3, 30, whole.Config.Vocab)
		want := whole.lane(t, small).all(tokens, len(tokens))
		path := casePath(t, name)
		least, most := floor(t, path)
		gates := slices.DeleteFunc(slices.Sorted(maps.Keys(whole.Weights)), func(n string) bool { return !strings.HasSuffix(n, ".ffn_gate_exps") })
		m, cfg, _ := streamed(t, path, small, least+2*most, regexp.QuoteMeta(gates[0])+"=ram", "token_embd=ssd")
		sameRows(t, name, m.lane(t, cfg).all(tokens, 13, 1), want)

		m, cfg, r := streamed(t, path, small, least+2*most, "ffn_up_exps=ssd")
		l := m.lane(t, cfg)
		for range 3 {
			sameRows(t, name, l.all(tokens, 13, 1), want)
		}
		if s := r.Experts(); s.Slots != s.Experts || s.Misses > int64(s.Experts) || s.Evictions != 0 {
			t.Errorf("%s: a cache of all experts: %+v", name, s)
		}
	}
}

// TestExpertsApart: experts that have tensors of their own are used where they are
// mapped, packed or not, and are not copied.
func TestExpertsApart(t *testing.T) {
	name := mixtures[1]
	whole := openCase(t, name, compile.Options{})
	tokens := randomTokens(3, 30, whole.Config.Vocab)
	want := whole.lane(t, small).all(tokens, len(tokens))
	d, err := file.Open(casePath(t, name))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	r, err := residence.Open(t.Context(), whole.Model, d, nil, &residence.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for bank, views := range r.Stream.Apart {
		source, _ := d.Tensor(whole.Weights[bank].Sources[1])
		if &views[1].Data[0] != &source.View.Data[0] {
			t.Errorf("%s is a copy", bank)
		}
	}
	for _, mode := range []pack.Mode{pack.Off, pack.InMemory} {
		m, cfg := *whole, small
		m.weights = r.Weights
		cfg.Stream, cfg.Pack.Mode = r.Stream, mode
		l := m.lane(t, cfg)
		sameRows(t, mode.String(), l.all(tokens, 13, 1), want)
		batch(t, l, tokens, want)
	}
	if len(r.Stream.Apart) == 0 {
		t.Error("no experts are apart")
	}
}

// TestExpertsStep: a token whose experts are read costs no allocation and no
// goroutine, and a stopped one leaves nothing behind.
func TestExpertsStep(t *testing.T) {
	for _, name := range mixtures {
		path := casePath(t, name)
		least, _ := floor(t, path)
		for _, threads := range []int{1, 2} {
			cfg := small
			cfg.Threads = threads
			m, cfg, r := streamed(t, path, cfg, least)
			x, s := decodeStep(t, m, cfg)
			s.Stop = new(atomic.Bool)
			gone := await.Goroutines(t)
			token := int32(0)
			one := func() {
				token++
				s.Tokens[0] = token % 7
				if err := x.Step(s); err != nil {
					t.Fatal(err)
				}
			}
			// Under load the runtime allocates what blocked goroutines wait in, after a
			// collection, so one run without any is enough.
			n := await.Allocs(30, one)
			for range 4 {
				if n > 0 {
					n = await.Allocs(30, one)
				}
			}
			if n != 0 {
				t.Errorf("%d threads: %g allocations a token", threads, n)
			}
			gone()
			if s := r.Experts(); s.Evictions == 0 {
				t.Errorf("nothing was evicted: %+v", s)
			}
			s.Tokens[0] = 3
			if err := x.Step(s); err != nil {
				t.Fatal(err)
			}
			want := slices.Clone(x.Logits(s, 0))
			s.Stop.Store(true)
			x.Wake()
			if err := x.Step(s); !errors.Is(err, exec.ErrStopped) {
				t.Errorf("a stopped step: %v", err)
			}
			s.Stop.Store(false)
			if err := x.Step(s); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(want, x.Logits(s, 0)) {
				t.Error("a step after a stopped one gives others")
			}
		}
	}
}

// TestExpertsCut: a file that loses its end is the error of the next step.
func TestExpertsCut(t *testing.T) { cutDuring(t, mixtures[0]) }

// TestDecodeComputesChosenExperts: a decoded token computes the experts that it
// chooses and no other, two tokens no more than twice as many.
func TestDecodeComputesChosenExperts(t *testing.T) {
	for _, name := range append(slices.Clone(mixtures), "parity/gpt_oss", "parity/phimoe") {
		m := openCase(t, name, compile.Options{})
		l := m.lane(t, small)
		q, p := l.sequence(64), l.sequence(64)
		l.run(&exec.Step{}, feed{q, []int32{1, 2, 3}}, feed{p, []int32{7, 5}})
		layers := uint64(0)
		for _, l := range m.Config.Layers {
			if l.FFN == "moe" {
				layers++
			}
		}
		c := &exec.Counters{}
		l.run(&exec.Step{Counters: c}, feed{q, []int32{4}})
		one := layers * uint64(m.Config.Mixture.TopK)
		if c.Experts() != one {
			t.Errorf("%s: one token computes %d experts, want %d", name, c.Experts(), one)
		}
		c.Reset()
		l.run(&exec.Step{Counters: c}, feed{q, []int32{4}}, feed{p, []int32{9}})
		if n := c.Experts(); n < one || n > 2*one {
			t.Errorf("%s: two tokens compute %d experts, want %d to %d", name, n, one, 2*one)
		}
	}
}
