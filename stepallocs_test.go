package atenia_test

import (
	"path/filepath"
	"testing"

	"atenia"
	"atenia/internal/golden"
	"atenia/internal/golden/await"
)

// TestStepDoesNotAllocate: a hundred more tokens allocate less often than a hundred times, so
// that no step allocates: what is left is the text of a token, and a page of keys and values
// for sixteen.
func TestStepDoesNotAllocate(t *testing.T) {
	const few, more = 20, 100
	for _, name := range []string{
		"llama3", "gemma3", "qwen3", "qwen2_moe", "mamba", "mamba2_groups", "granite_hybrid_rope", "deepseek_v3", "gpt_oss", "gpt_oss_mxfp4", "granitemoeshared",
		"lfm2", "qwen3_next", "rwkv7", "gpt2", "mpt", "falcon_40b", "cohere_qk_norm", "hunyuan_dense", "olmo3",
	} {
		for _, threads := range []int{1, 2} {
			m, err := atenia.Open(t.Context(), filepath.Join(golden.Family(t, "parity"), name), &atenia.Config{Threads: threads, Context: 256})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			answer := func(n int) float64 {
				return await.Allocs(3, func() {
					for _, err := range m.Generate(t.Context(), atenia.Prompt{Tokens: []int32{1, 2, 3, 4, 5}, Options: atenia.Options{MaxTokens: n, IgnoreEnd: true, Speculate: "off"}}) {
						if err != nil {
							t.Fatal(err)
						}
					}
				})
			}
			if n := answer(few+more) - answer(few); n >= more {
				t.Errorf("%s, %d threads: %g allocations of %d more tokens", name, threads, n, more)
			}
		}
	}
}
