package atenia_test

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"atenia"
	"atenia/internal/golden"
)

// bench measures the embedded model as little as can be.
func bench(t *testing.T, m *atenia.Model, c atenia.BenchConfig) *atenia.BenchReport {
	t.Helper()
	c.Repeats = 1
	r, err := m.Bench(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestBenchCounters compares what was counted with the plan: every
// instruction of it once in each step.
func TestBenchCounters(t *testing.T) {
	m := open(t, &atenia.Config{BatchTokens: 32})
	r := bench(t, m, atenia.BenchConfig{Prompt: 80, Decode: 2, Counters: true})
	plans := m.Plan().Plans
	for _, c := range []struct {
		name   string
		got    atenia.StepCounts
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
	if r := bench(t, m, atenia.BenchConfig{Prompt: -1, Decode: 2}); r.Counters != nil || r.Prefill.Tokens != 0 {
		t.Errorf("%+v: not asked for", r)
	}
}

// TestBenchDecode measures answers at depths and of several sequences, in
// chunks that keep the sequences apart, with and without windows.
func TestBenchDecode(t *testing.T) {
	for _, path := range []string{"", "mistral_window"} {
		if path != "" {
			path = filepath.Join(golden.Root(t), "testdata", "golden", "parity", path)
		}
		m, err := atenia.Open(t.Context(), path, &atenia.Config{Slots: 5, BatchTokens: 16, Context: 512})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		r := bench(t, m, atenia.BenchConfig{Prompt: -1, Decode: 6, Depths: []int{40, 0, 100}, Batch: 5})
		rates := []atenia.Rate{r.Decode}
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
	m := open(t, nil)
	for _, c := range []atenia.BenchConfig{{Batch: 5}, {Depths: []int{-1}}, {Depths: []int{400}}, {Decode: 512}, {Repeats: -1}, {Prompt: 513}, {Decode: -1, Depths: []int{1}}} {
		if _, err := m.Bench(t.Context(), c); err == nil {
			t.Errorf("%+v is not refused", c)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Bench(ctx, atenia.BenchConfig{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestBenchKernels measures every kind of kernel, in little memory.
func TestBenchKernels(t *testing.T) {
	if testing.Short() {
		t.Skip("measures the machine")
	}
	seen := map[string]int{}
	r, err := atenia.BenchKernels(t.Context(), atenia.KernelsConfig{
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
	for _, c := range []atenia.KernelsConfig{{Threads: -1}, {Rounds: -1}, {Formats: []string{"q9"}}, {Formats: []string{"F64"}}} {
		if _, err := atenia.BenchKernels(t.Context(), c); err == nil {
			t.Errorf("%+v is not refused", c)
		}
	}
	r, err = atenia.BenchKernels(t.Context(), atenia.KernelsConfig{Only: regexp.MustCompile("^norm"), Bytes: 1, Rounds: 1, Each: time.Millisecond})
	if err != nil || len(r.Kernels) != 1 || r.Kernels[0].Bound != "cache" {
		t.Errorf("%+v, %v", r, err)
	}
}
