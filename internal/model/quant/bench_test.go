package quant

import (
	"fmt"
	"testing"

	"atenia/tensor"
)

// Matrices of a common size, read as they are when a model is opened.
func BenchmarkRows(b *testing.B) {
	const side = 4096
	view := func(d tensor.DType, shape ...int) tensor.View {
		n, _ := tensor.Shape(shape).Bytes(d)
		return tensor.View{DType: d, Shape: shape, Data: make([]byte, n)}
	}
	for _, c := range []struct {
		name, how string
		stored    []Stored
	}{
		{"gptq4", `{"quant_method":"gptq","bits":4,"group_size":128}`, []Stored{
			{"x.qweight", view(tensor.I32, side/8, side)}, {"x.qzeros", view(tensor.I32, side/128, side/8)}, {"x.scales", view(tensor.F16, side/128, side)}}},
		{"awq", `{"quant_method":"awq","bits":4,"group_size":128}`, []Stored{
			{"x.qweight", view(tensor.I32, side, side/8)}, {"x.qzeros", view(tensor.I32, side/128, side/8)}, {"x.scales", view(tensor.F16, side/128, side)}}},
		{"fp8", `{"quant_method":"fp8","weight_block_size":[128,128]}`, []Stored{
			{"x.weight", view(tensor.F8E4M3, side, side)}, {"x.weight_scale_inv", view(tensor.F32, side/128, side/128)}}},
	} {
		f, err := Read([]byte(c.how), "bfloat16", "", c.stored)
		if err != nil {
			b.Fatal(err)
		}
		w := f.Tensors[0]
		size, _ := w.DType.RowBytes(side)
		dst := make([]byte, 64*size)
		b.Run(fmt.Sprintf("%s/%v", c.name, w.DType), func(b *testing.B) {
			b.SetBytes(64 * side)
			for at := 0; b.Loop(); at = (at + 64) % side {
				w.Rows(dst, at, at+64)
			}
		})
	}
}
