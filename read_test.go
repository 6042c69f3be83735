package atenia

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"atenia/internal/sample"
	"atenia/internal/text/token"
	"atenia/internal/train"
	"atenia/nested"
)

// TestReading: a folder that training exported reads and writes; what a reading has learnt is
// saved and restored, and the next one goes on as if it had never ended.
func TestReading(t *testing.T) {
	t.Parallel()
	c := nested.Config{Vocab: 257, Width: 16, Heads: 2, Window: 8, Chunk: 6, Periods: []int{1, 2}, Residual: true, Norm: true, Seed: 3}
	m, err := train.NewNested(c.WithDefaults(), 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if IsNested(dir) {
		t.Error("a folder without config.json is a model")
	}
	if err := m.Export(nil, dir); err != nil {
		t.Fatal(err)
	}
	v, err := token.TrainVocabulary(token.VocabularyConfig{Size: 257, Special: []string{"<|end|>"}}, func(yield func(string, error) bool) { yield("a", nil) })
	if err != nil {
		t.Fatal(err)
	}
	b, err := v.JSON()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "tokenizer.json"), b, 0o600); err != nil {
		t.Fatal(err)
	}
	if !IsNested(dir) {
		t.Error("the exported folder is not a nested model")
	}
	r, err := openReading(dir, "", 1)
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	var whole, parts strings.Builder
	for _, prompt := range []string{"the cat ", "the dog "} {
		if err := r.continueText(t.Context(), prompt, 9, sample.Params{}, func(s string) error { whole.WriteString(s); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	memory := filepath.Join(dir, "memory")
	for _, prompt := range []string{"the cat ", "the dog "} {
		ask := Reading{Prompt: prompt, Memory: memory, Tokens: 9, Threads: 1, Adjust: func(s *Sampling) error { *s = Sampling{}; return nil }}
		if err := Read(t.Context(), dir, ask, func(s string) error { parts.WriteString(s); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if whole.String() != parts.String() || whole.Len() == 0 {
		t.Errorf("with saved memory it writes %q, want %q", &parts, &whole)
	}
	if err := Read(t.Context(), dir, Reading{Prompt: "a", Memory: filepath.Join(dir, "config.json")}, nil); err == nil {
		t.Error("a file that is no memory is taken for one")
	}
}
