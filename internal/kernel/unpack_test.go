package kernel

import (
	"encoding/hex"
	"path/filepath"
	"strings"
	"testing"

	"atenia/internal/golden"
	"atenia/tensor"
)

// Every block of the reference cases dequantizes to exactly their values.
func TestGoldenDequant(t *testing.T) {
	dir := golden.Family(t, "gguf/dequant")
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases in %s: %v", dir, err)
	}
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".json")
		t.Run(name, func(t *testing.T) {
			d, err := tensor.ParseDType(name)
			if err != nil || !Supports(d) {
				t.Skip("not a type that products know")
			}
			var c struct {
				Hex    []string
				Values [][]float32
			}
			golden.JSON(t, f, &c)
			for i, h := range c.Hex {
				src, err := hex.DecodeString(h)
				if err != nil {
					t.Fatal(err)
				}
				got := make([]float32, len(c.Values[i]))
				LoadRow(got, d, src)
				for k, want := range c.Values[i] {
					if got[k] != want && (got[k] == got[k] || want == want) {
						t.Fatalf("block %d value %d: got %g, want %g", i, k, got[k], want)
					}
				}
			}
		})
	}
}
