package bench_test

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"atenia"
	"atenia/internal/bench"
	"atenia/internal/engine"
	"atenia/internal/golden"
	"atenia/internal/sched"
)

// open opens a model and returns its engine.
func open(t *testing.T, path string, c *atenia.Config) *engine.Engine {
	t.Helper()
	var e *engine.Engine
	m, err := atenia.Open(engine.Capture(t.Context(), &e), path, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return e
}

// measure measures a model as little as can be.
func measure(t *testing.T, e *engine.Engine, c bench.Config) *bench.Report {
	t.Helper()
	c.Repeats = 1
	r, err := bench.Run(t.Context(), e, c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestBenchCounters compares the counts with the plan: every instruction of it
// once in each step.
func TestBenchCounters(t *testing.T) {
	e := open(t, "", &atenia.Config{BatchTokens: 32})
	r := measure(t, e, bench.Config{Prompt: 80, Decode: 2, Counters: true})
	plans := &e.Plan.Model.Plans
	for _, c := range []struct {
		name   string
		got    bench.StepCounts
		tokens int
		want   int
	}{
		{"prefill", r.Counters.Prefill, 80, 3 * len(plans.Prefill.Plan.Instructions)},
		{"decode", r.Counters.Decode, 1, len(plans.Decode.Plan.Instructions)},
	} {
		sum := uint64(0)
		for _, o := range c.got.Ops {
			sum += o.Count
		}
		if c.got.Tokens != c.tokens || c.got.Instructions != uint64(c.want) || sum != uint64(c.want) || c.got.Launches == 0 {
			t.Errorf("%s: %+v, want %d instructions for %d tokens", c.name, c.got, c.want, c.tokens)
		}
	}
	if r := measure(t, e, bench.Config{Prompt: -1, Decode: 2}); r.Counters != nil || r.Prefill.Tokens != 0 {
		t.Errorf("%+v: not requested", r)
	}
}

// TestBenchDecode measures answers at depths and of several sequences, in
// chunks that keep the sequences apart, with and without windows.
func TestBenchDecode(t *testing.T) {
	for _, path := range []string{"", "mistral_window"} {
		if path != "" {
			path = filepath.Join(golden.Root(t), "testdata", "golden", "parity", path)
		}
		e := open(t, path, &atenia.Config{Slots: 5, BatchTokens: 16, Context: 512})
		r := measure(t, e, bench.Config{Prompt: -1, Decode: 6, Depths: []int{40, 0, 100}, Batch: 5})
		rates := []bench.Rate{r.Decode}
		for i, d := range r.Depths {
			if d.Depth != []int{40, 0, 100}[i] {
				t.Errorf("depth %d", d.Depth)
			}
			rates = append(rates, d.Rate)
		}
		for i, speed := range rates {
			if len(rates) != 4 || speed.Tokens != 6 || len(speed.Samples) != 1 || !(speed.Median > 0) || math.IsInf(speed.Median, 0) {
				t.Errorf("%d: %+v", i, speed)
			}
		}
		if r.Batch != 5 || r.Share <= 0 {
			t.Errorf("%+v", r)
		}
		if s := r.Step; !(s.P50 > 0) || s.P95 < s.P50 || s.P95 > 10 {
			t.Errorf("steps: %+v", s)
		}
	}
	e := open(t, "", nil)
	for _, c := range []bench.Config{{Batch: 5}, {Depths: []int{-1}}, {Depths: []int{400}}, {Decode: 512}, {Repeats: -1}, {Prompt: 513}, {Decode: -1, Depths: []int{1}}} {
		if _, err := bench.Run(t.Context(), e, c); err == nil {
			t.Errorf("%+v is not refused", c)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := bench.Run(ctx, e, bench.Config{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := bench.Run(t.Context(), e, bench.Config{Prompt: 4, Decode: 4, Repeats: 1}); !errors.Is(err, atenia.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

// TestEncoder: the speed of an encoder is that of a batch of texts; it does not decode.
func TestEncoder(t *testing.T) {
	e := open(t, filepath.Join(golden.Root(t), "testdata", "golden", "parity", "roberta"), &atenia.Config{})
	r := measure(t, e, bench.Config{Prompt: 7, Batch: 3})
	if r.Prefill.Tokens != 21 || !(r.Prefill.Median > 0) || r.Decode.Tokens != 0 || r.TokenBytes != 0 {
		t.Errorf("%+v", r)
	}
	if _, err := bench.Run(t.Context(), e, bench.Config{Prompt: 7, Decode: 3}); !errors.Is(err, sched.ErrEncoder) {
		t.Errorf("decoding: %v", err)
	}
}

// TestMixture: of experts, a step reads those that its tokens choose, and a token of a prompt
// is multiplied with them alone: what both say is what the plan has.
func TestMixture(t *testing.T) {
	path := filepath.Join(golden.Family(t, "parity"), "qwen2_moe")
	for _, batch := range []int{1, 3} {
		e := open(t, path, &atenia.Config{Context: 64, Slots: 3})
		r := measure(t, e, bench.Config{Prompt: 4, Decode: 2, Batch: batch})
		mix, all, chosen, rest := e.Plan.Model.Config.Mixture, 0.0, 0.0, 0.0
		for name, w := range e.Views() {
			size, _ := w.Shape.Bytes(w.DType)
			switch {
			case strings.Contains(name, "_exps"):
				all += float64(size)
			case name != "token_embd":
				rest += float64(size)
			}
		}
		for k, not := 0, 1.0; k < batch; k++ {
			not *= 1 - float64(mix.TopK)/float64(mix.Experts)
			chosen = all * (1 - not)
		}
		if got := float64(r.TokenBytes); all == 0 || math.Abs(got-rest-chosen) > 64 {
			t.Errorf("%d sequences: %v bytes are read in a step, want %v of %v of experts and %v", batch, got, chosen, all, rest)
		}
		if _, products := e.Plan.Pass(); r.Ops.Float+r.Ops.Int8 > float64(products) || r.Ops.Float+r.Ops.Int8 == 0 {
			t.Errorf("%+v operations of a token, the plan has %d with the output", r.Ops, products)
		}
	}
}
