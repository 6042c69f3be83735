package machine

import (
	"regexp"
	"testing"
	"time"
)

// TestBenchKernels measures every kind of kernel, in little memory.
func TestBenchKernels(t *testing.T) {
	if testing.Short() {
		t.Skip("measures the machine")
	}
	seen := map[string]int{}
	r, err := Kernels(t.Context(), KernelConfig{
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
	for _, c := range []KernelConfig{{Threads: -1}, {Rounds: -1}, {Formats: []string{"q9"}}, {Formats: []string{"F64"}}} {
		if _, err := Kernels(t.Context(), c); err == nil {
			t.Errorf("%+v is not refused", c)
		}
	}
	r, err = Kernels(t.Context(), KernelConfig{Only: regexp.MustCompile("^norm"), Bytes: 1, Rounds: 1, Each: time.Millisecond})
	if err != nil || len(r.Kernels) != 1 || r.Kernels[0].Bound != "cache" {
		t.Errorf("%+v, %v", r, err)
	}
}
