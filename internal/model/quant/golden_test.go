package quant

import (
	"encoding/hex"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"atenia/internal/golden"
	"atenia/tensor"
)

// TestGoldenDequant compares every bit with ggml's reference readers.
func TestGoldenDequant(t *testing.T) {
	dir := golden.Family(t, "gguf/dequant")
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok {
			continue
		}
		t.Run(name, func(t *testing.T) {
			var c struct {
				Type        string      `json:"type"`
				BlockValues int         `json:"block_values"`
				BlockBytes  int         `json:"block_bytes"`
				Hex         []string    `json:"hex"`
				Values      [][]float32 `json:"values"`
			}
			golden.JSON(t, filepath.Join(dir, e.Name()), &c)
			d, err := tensor.ParseDType(c.Type)
			if err != nil {
				t.Fatal(err)
			}
			if v, b := d.Block(); v != c.BlockValues || b != c.BlockBytes {
				t.Fatalf("blocks of %d values in %d bytes, want %d in %d", v, b, c.BlockValues, c.BlockBytes)
			}
			if len(c.Hex) == 0 || len(c.Hex) != len(c.Values) {
				t.Fatalf("%d blocks, %d lists of values", len(c.Hex), len(c.Values))
			}
			// All blocks at once, so that steps from block to block count.
			var src []byte
			var want []float32
			for i, h := range c.Hex {
				b, err := hex.DecodeString(h)
				if err != nil {
					t.Fatal(err)
				}
				src, want = append(src, b...), append(want, c.Values[i]...)
			}
			got := make([]float32, len(want))
			if err := Dequantize(got, d, src); err != nil {
				t.Fatal(err)
			}
			for i := range want {
				if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
					t.Fatalf("block %d value %d: got %v, want %v", i/c.BlockValues, i%c.BlockValues, got[i], want[i])
				}
			}
		})
	}
}
