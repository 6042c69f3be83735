package atenia_test

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"atenia"
)

// packedFolders are llamas as other tools quantize them: see tools/torch/packed.py.
func packedFolders(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob("internal/model/packed/testdata/*")
	if err != nil || len(all) < 20 {
		t.Fatalf("%d folders, %v", len(all), err)
	}
	return all
}

// Quantized folders give the logits of their dequantized weights, as they are
// and as GGUF files. The reference rounds its weights to 11 or 8 bits where
// blocks hold them exactly; the tolerances, relative to the largest logit, are
// for that and for activations of 8 bits.
func TestPackedFolders(t *testing.T) {
	for _, dir := range packedFolders(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			b, err := os.ReadFile(filepath.Join(dir, "expected.json"))
			if err != nil {
				t.Fatal(err)
			}
			var want struct {
				Tokens []int32
				Logits [][]float32
			}
			if err := json.Unmarshal(b, &want); err != nil {
				t.Fatal(err)
			}
			check := func(path string, c *atenia.Config, tolerance float64) {
				t.Helper()
				m, err := atenia.Open(t.Context(), path, c)
				if err != nil {
					t.Fatal(err)
				}
				defer m.Close()
				got, err := m.Logits(t.Context(), want.Tokens, atenia.LogitsOptions{All: true})
				if err != nil {
					t.Fatal(err)
				}
				worst, largest := 0.0, 0.0
				for i := range got {
					for j, x := range got[i] {
						largest = max(largest, math.Abs(float64(want.Logits[i][j])))
						worst = max(worst, math.Abs(float64(x-want.Logits[i][j])))
					}
				}
				if !(worst <= tolerance*largest) {
					t.Errorf("%s: off by %.3g of %.3g, want %g of it", path, worst, largest, tolerance)
				}
			}
			check(dir, &atenia.Config{Precise: true, CacheType: "f32"}, 1e-2)
			check(dir, nil, 3e-2)
			check(dir, &atenia.Config{Budget: atenia.Budget{RAM: 200 << 20}}, 3e-2)
			mix, _ := atenia.ParseMix("f32")
			out := filepath.Join(t.TempDir(), "f32.gguf")
			if _, err := atenia.Quantize(t.Context(), dir, out, atenia.QuantizeOptions{Mix: mix}); err != nil {
				t.Fatal(err)
			}
			check(out, &atenia.Config{Precise: true, CacheType: "f32"}, 1e-2)
		})
	}
}

// TestZeroPointsTold: a folder that says "gptq" and has zero points of the second
// version gives the logits of the first one: symmetric digits tell which they are.
func TestZeroPointsTold(t *testing.T) {
	const from = "internal/model/packed/testdata/gptq4"
	logits := func(folder string) [][]float32 {
		t.Helper()
		m, err := atenia.Open(t.Context(), folder, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		rows, err := m.Logits(t.Context(), []int32{1, 2, 3, 4, 5}, atenia.LogitsOptions{All: true})
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "model.safetensors")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	n := int(binary.LittleEndian.Uint64(b))
	var header map[string]struct {
		Offsets [2]int `json:"data_offsets"`
	}
	if err := json.Unmarshal(b[8:8+n], &header); err != nil {
		t.Fatal(err)
	}
	changed := 0
	for name, x := range header {
		if strings.HasSuffix(name, ".qzeros") {
			for i := 8 + n + x.Offsets[0]; i < 8+n+x.Offsets[1]; i++ {
				if b[i] != 0x77 {
					t.Fatalf("%s: %#x, want 7 for 8", name, b[i])
				}
				b[i] = 0x88
				changed++
			}
		}
	}
	if err := os.WriteFile(path, b, 0o600); err != nil || changed == 0 {
		t.Fatal(err, changed)
	}
	if got := logits(dir); !slices.EqualFunc(got, logits(from), slices.Equal) {
		t.Error("other logits")
	}
}
