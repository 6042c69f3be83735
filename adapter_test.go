package atenia_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"atenia"
	"atenia/internal/golden"
	"atenia/internal/lora"
	"atenia/internal/modelfile"
)

// TestAdapter opens a model with an adapter, as it is and as a merged folder:
// the same logits, which are not those of the model alone. Nothing of it is
// left when it is closed.
func TestAdapter(t *testing.T) {
	base := filepath.Join(golden.Family(t, "train"), "llama_untied")
	t.Setenv("TMPDIR", t.TempDir())
	logits := func(path string, c atenia.Config) []float32 {
		t.Helper()
		c.Pack = "memory"
		m, err := atenia.Open(context.Background(), path, &c)
		if err != nil {
			t.Fatal(err)
		}
		x, err := m.Logits(context.Background(), []int32{5, 9, 2, 7}, atenia.LogitsOptions{})
		if err := errors.Join(err, m.Close()); err != nil {
			t.Fatal(err)
		}
		return slices.Concat(x...)
	}
	adapter := filepath.Join(base, "lora")
	plain, with := logits(base, atenia.Config{}), logits(base, atenia.Config{Adapter: adapter})
	if slices.Equal(plain, with) {
		t.Error("the adapter changes nothing")
	}
	d, err := modelfile.Open(base)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	a, err := lora.Open(adapter)
	if err != nil {
		t.Fatal(err)
	}
	merged := filepath.Join(t.TempDir(), "merged")
	if err := a.Merge(nil, d, merged); err != nil {
		t.Fatal(err)
	}
	if got := logits(merged, atenia.Config{}); !slices.Equal(got, with) {
		t.Error("a merged folder and a model that is merged as it is opened differ")
	}
	gguf := filepath.Join(t.TempDir(), "merged.gguf")
	mix, err := atenia.ParseMix("f32")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := atenia.Quantize(context.Background(), base, gguf, atenia.QuantizeOptions{Mix: mix, Adapter: adapter}); err != nil {
		t.Fatal(err)
	}
	got := logits(gguf, atenia.Config{})
	for i := range got {
		if d := got[i] - with[i]; d > 1e-4 || d < -1e-4 {
			t.Fatalf("as GGUF, logit %d is %v, want %v", i, got[i], with[i])
		}
	}
	if _, err := atenia.Open(context.Background(), gguf, &atenia.Config{Adapter: adapter}); !errors.Is(err, lora.ErrBase) {
		t.Error(err)
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
}
