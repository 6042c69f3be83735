package atenia_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"atenia"
	"atenia/place"
)

// packedFolders are llamas as other tools quantize them: see tools/torch/packed.py.
func packedFolders(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob("internal/model/quant/testdata/*")
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
			check(dir, &atenia.Config{Budget: place.Budget{RAM: 200 << 20, Reserve: place.Reserve{Runtime: 60 << 20}}}, 3e-2)
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
	dir := zeroPoints2(t, "gptq4")
	if got := zeroLogits(t, dir, atenia.Config{}); !slices.EqualFunc(got, zeroLogits(t, packedFolder("gptq4"), atenia.Config{}), slices.Equal) {
		t.Error("other logits")
	}
	if got := zeroLogits(t, dir, atenia.Config{GPTQZeros: "v1"}); slices.EqualFunc(got, zeroLogits(t, packedFolder("gptq4"), atenia.Config{}), slices.Equal) {
		t.Error("the digits won over Config.GPTQZeros")
	}
}

// TestZeroPointsUntold: digits that are not symmetric do not tell it. The model says so,
// and obeys GPTQZeros; weights that were packed, and keys and values that were kept, with
// other zero points are not used.
func TestZeroPointsUntold(t *testing.T) {
	dir := zeroPoints2(t, "gptq4_asym")
	want := zeroLogits(t, packedFolder("gptq4_asym"), atenia.Config{})
	disk := atenia.Config{Pack: "disk"}
	if got := zeroLogits(t, dir, disk); slices.EqualFunc(got, want, slices.Equal) {
		t.Fatal("the zero points do not matter")
	}
	for _, c := range []atenia.Config{{GPTQZeros: "v2"}, {GPTQZeros: "v2", Pack: "disk"}} {
		if got := zeroLogits(t, dir, c); !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("%q, pack %q: other logits", c.GPTQZeros, c.Pack)
		}
	}
	for version, line := range map[string]string{"": "try --gptq-zeros v2", "v1": "", "v2": ""} {
		m, err := atenia.Open(t.Context(), dir, &atenia.Config{GPTQZeros: version})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(m.Streaming().Notes, "\n"); (got == "") != (line == "") || !strings.Contains(got, line) {
			t.Errorf("%q: notes %q, want %q", version, got, line)
		}
		m.Close()
	}
	kept := t.TempDir()
	for i, version := range []string{"v1", "v1", "v2"} {
		m, err := atenia.Open(t.Context(), dir, &atenia.Config{GPTQZeros: version, Checkpoint: kept})
		if err != nil {
			t.Fatal(err)
		}
		r, _ := m.Checkpoint()
		if want := i == 1; (r.Sequences > 0) != want {
			t.Errorf("opening %d, %s: %d sequences are continued, want some: %v", i, version, r.Sequences, want)
		}
		for _, err := range m.Generate(t.Context(), atenia.Prompt{Tokens: slices.Repeat([]int32{1, 2, 3}, 20), Options: atenia.Options{MaxTokens: 2}}) {
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestZeroPointsOfOthers: a model without GPTQ digits has no such zero points.
func TestZeroPointsOfOthers(t *testing.T) {
	for path, want := range map[string]string{"": "GGUF", packedFolder("awq"): "awq", packedFolder("gptq4"): ""} {
		_, planned := atenia.OpenPlan(path, &atenia.Config{GPTQZeros: "v2"})
		m, opened := atenia.Open(t.Context(), path, &atenia.Config{GPTQZeros: "v2"})
		if opened == nil {
			m.Close()
		}
		_, written := atenia.Quantize(t.Context(), path, filepath.Join(t.TempDir(), "q.gguf"), atenia.QuantizeOptions{GPTQZeros: "v2"})
		for _, err := range []error{planned, opened, written} {
			bad, is := errors.AsType[*atenia.ConfigError](err)
			if is != (want != "") || is && (bad.Field != "GPTQZeros" || !strings.Contains(err.Error(), want)) || !is && err != nil {
				t.Errorf("%s: %v, want %q", path, err, want)
			}
		}
	}
}

func packedFolder(name string) string { return "internal/model/quant/testdata/" + name }

// zeroLogits returns logits of the model in a folder.
func zeroLogits(t *testing.T, folder string, c atenia.Config) [][]float32 {
	t.Helper()
	m, err := atenia.Open(t.Context(), folder, &c)
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

// zeroPoints2 copies a folder of 4-bit digits whose zero points are stored less one, and
// stores them as they are without a word in the configuration.
func zeroPoints2(t *testing.T, name string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(packedFolder(name))); err != nil {
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
				b[i] = (b[i]>>4+1)<<4 | (b[i]+1)&15 // modulo 16, both
				changed++
			}
		}
	}
	if err := os.WriteFile(path, b, 0o600); err != nil || changed == 0 {
		t.Fatal(err, changed)
	}
	return dir
}
