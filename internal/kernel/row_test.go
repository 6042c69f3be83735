package kernel

import (
	"math/rand/v2"
	"testing"

	"atenia/internal/model/quant"
	"atenia/tensor"
)

// Rows of any bits dequantize as in package quant, and rows of Q8_0 are quantized
// as there, under every variant.
func TestRowsAsQuant(t *testing.T) {
	defer func(v string) { _ = SetVariant(v) }(Variant())
	r := rand.New(rand.NewPCG(1, 9))
	for _, v := range Variants() {
		if err := SetVariant(v); err != nil {
			t.Fatal(err)
		}
		for d := range tensor.DType(tensor.NumDTypes) {
			if !Supports(d) {
				continue
			}
			for _, n := range []int{256, 1280} {
				size, _ := d.RowBytes(n)
				src, got, want := make([]byte, size), make([]float32, n), make([]float32, n)
				for i := range src {
					src[i] = byte(r.Uint32())
				}
				LoadRow(got, d, src)
				if err := quant.Dequantize(want, d, src); err != nil {
					t.Fatal(err)
				}
				for i := range want {
					if got[i] != want[i] && (got[i] == got[i] || want[i] == want[i]) {
						t.Fatalf("%s, %v: value %d is %g, want %g", v, d, i, got[i], want[i])
					}
				}
			}
		}
		x, got, want := make([]float32, 320), make([]byte, 340), make([]byte, 340)
		for i := range x {
			x[i] = float32(r.NormFloat64())
		}
		StoreRow(got, tensor.Q8_0, x)
		if err := quant.Quantize(want, tensor.Q8_0, x, nil); err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Fatalf("%s: StoreRow of Q8_0 differs", v)
		}
	}
}
