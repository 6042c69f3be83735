package quant

import (
	"math"
	"math/rand/v2"
	"testing"

	"atenia/tensor"
)

// fp4 has the values of OCP E2M1.
var fp4 = [16]float64{0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6}

func TestMXFP4(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const experts, rows, blocks = 3, 5, 2
	q, e := make([]byte, experts*rows*blocks*16), make([]byte, experts*rows*blocks)
	for i := range q {
		q[i] = byte(rng.Uint32())
	}
	for i := range e {
		e[i] = byte(100 + rng.IntN(50))
	}
	stored := []Stored{
		{"x.gate_up_proj_blocks", tensor.View{DType: tensor.U8, Shape: tensor.Shape{experts, rows, blocks, 16}, Data: q}},
		{"x.gate_up_proj_scales", tensor.View{DType: tensor.U8, Shape: tensor.Shape{experts, rows, blocks}, Data: e}},
		{"x.norm", tensor.FromF32(tensor.Shape{2}, []float32{1, 2})},
	}
	f, err := Read([]byte(`{"quant_method": "mxfp4"}`), "bfloat16", "", stored)
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Tensors) != 2 || f.Tensors[1].Name != "x.norm" || f.Tensors[1].Rows != nil {
		t.Fatalf("tensors %+v", f.Tensors)
	}
	w := f.Tensors[0]
	if w.Name != "x.gate_up_proj.weight" || w.DType != tensor.MXFP4 || !w.Shape.Equal(tensor.Shape{experts, rows, blocks * 32}) {
		t.Fatalf("%s %v %v", w.Name, w.DType, w.Shape)
	}
	const lo, hi = 2, 11
	got, data := make([]float32, (hi-lo)*blocks*32), make([]byte, (hi-lo)*blocks*17)
	w.Rows(data, lo, hi)
	if err := Dequantize(got, w.DType, data); err != nil {
		t.Fatal(err)
	}
	for i, x := range got {
		at := lo*blocks*32 + i
		code := q[at/2] >> (4 * (at & 1)) & 15
		if want := float32(math.Ldexp(fp4[code], int(e[at/32])-127)); x != want {
			t.Fatalf("value %d: got %v, want %v", at, x, want)
		}
	}
	stored[1].View.Shape = tensor.Shape{experts, blocks, rows}
	if _, err := Read([]byte(`{"quant_method": "mxfp4"}`), "", "", stored); err == nil {
		t.Error("scales of another shape are read")
	}
}
