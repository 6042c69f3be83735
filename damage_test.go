package atenia_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"atenia"
	"atenia/internal/golden"
	"atenia/internal/golden/await"
)

// TestDamage damages files at random, mostly in their headers, and uses what
// can still be opened. Errors are fine; panics and hangs are not.
func TestDamage(t *testing.T) {
	cases := filepath.Join(golden.Root(t), "testdata", "golden")
	for _, c := range []struct {
		name, from, file string
		header           int // bytes at the beginning that most damage goes to
	}{
		{"gguf", filepath.Join(cases, "gguf", "models", "llama-f16.gguf"), "", 7000},
		{"safetensors", filepath.Join(cases, "parity", "llama3"), "model.safetensors", 3080},
		{"config", filepath.Join(cases, "parity", "llama_yarn"), "config.json", 1 << 20},
		{"tokenizer", filepath.Join(cases, "parity", "qwen3"), "tokenizer.json", 1 << 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			model, target := filepath.Join(dir, "model.gguf"), filepath.Join(dir, "model.gguf")
			source := c.from
			if c.file != "" {
				model, target, source = dir, filepath.Join(dir, c.file), filepath.Join(c.from, c.file)
				if err := os.CopyFS(dir, os.DirFS(c.from)); err != nil {
					t.Fatal(err)
				}
			}
			whole, err := os.ReadFile(source)
			if err != nil {
				t.Fatal(err)
			}
			opened, draws := 0, 70
			if await.Long() {
				draws = 200
			}
			rng := rand.New(rand.NewPCG(1, uint64(len(whole))))
			for range draws {
				b := append([]byte{}, whole...)
				for range 1 + rng.IntN(3) {
					at := rng.IntN(min(len(b), c.header))
					if b[at] = byte(rng.Uint32()); rng.IntN(3) > 0 { // what looks right is worse
						b[at] = whole[rng.IntN(min(len(b), c.header))]
					}
				}
				if rng.IntN(4) == 0 {
					b = b[:rng.IntN(len(b))]
				}
				if err := os.WriteFile(target, b, 0o666); err != nil {
					t.Fatal(err)
				}
				if use(t, model) {
					opened++
				}
			}
			t.Logf("%d of %d damaged models could be opened", opened, draws)
		})
	}
}

// use opens a model that may be damaged, and computes a little.
func use(t *testing.T, path string) bool {
	m, err := atenia.Open(t.Context(), path, &atenia.Config{Threads: 1, Context: 64})
	if err != nil {
		return false
	}
	defer m.Close()
	_, _ = m.Logits(t.Context(), []int32{1, 2, 3}, atenia.LogitsOptions{})
	_, _ = collect(m.Generate(t.Context(), atenia.Prompt{Text: "Once upon", Options: atenia.Options{MaxTokens: 4, Sampling: m.Sampling()}}))
	_ = m.Plan().WriteText(discard{}, atenia.PlanView{Explain: true})
	return true
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
