package bench_test

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"atenia"
	"atenia/internal/bench"
	"atenia/internal/bench/kernels"
	"atenia/internal/engine"
	"atenia/internal/golden"
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

// TestBenchKernels measures every kind of kernel, in little memory.
func TestBenchKernels(t *testing.T) {
	if testing.Short() {
		t.Skip("measures the machine")
	}
	seen := map[string]int{}
	r, err := bench.Kernels(t.Context(), kernels.Config{
		Threads: 2, Formats: []string{"f32", "q8_0"}, Bytes: 16 << 20, Rounds: 2, Each: time.Millisecond,
		Progress: func(name string) { seen[name]++ },
	})
	if err != nil {
		t.Fatal(err)
	}
	if o := r.Roofs; len(r.Kernels) != len(seen) || r.Threads != 2 || o.Memory <= 0 || o.Cache <= 0 || o.FMA <= 0 || o.Dot <= 0 {
		t.Errorf("%d kernels, %v, %+v", len(r.Kernels), seen, r)
	}
	for _, k := range r.Kernels {
		if seen[k.Name()] != 2 || !(k.Bytes > 0) || !(k.Min > 0) || k.Share < k.Min || k.Share > k.Max {
			t.Errorf("%s: %+v", k.Name(), k)
		}
	}
	for _, want := range []string{"norm f32 2048", "rope f32 64", "softmax f32 256", "quantise q8 2048", "argmax f32 32000", "scores q8_0 8x64", "weighted f32 8x64", "decode q8_0 2048x5632", "decode q8_0 2048x5632 unpacked", "batch 8 q8_0 5632x2048", "prefill 512 q8_0 5632x2048"} {
		if seen[want] == 0 {
			t.Errorf("no %s in %v", want, seen)
		}
	}
	for _, c := range []kernels.Config{{Threads: -1}, {Rounds: -1}, {Formats: []string{"q9"}}, {Formats: []string{"F64"}}} {
		if _, err := bench.Kernels(t.Context(), c); err == nil {
			t.Errorf("%+v is not refused", c)
		}
	}
	r, err = bench.Kernels(t.Context(), kernels.Config{Only: regexp.MustCompile("^norm"), Bytes: 1, Rounds: 1, Each: time.Millisecond})
	if err != nil || len(r.Kernels) != 1 || r.Kernels[0].Bound != "cache" {
		t.Errorf("%+v, %v", r, err)
	}
}
