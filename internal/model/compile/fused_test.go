package compile

import (
	"bytes"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"atenia/internal/model/file"
	"atenia/tensor"
)

// TestTakenRows: rows of each group and every n-th row, of the stored form, are
// those of the values.
func TestTakenRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for range 300 {
		d := rowTypes[rng.IntN(len(rowTypes))]
		groups, each := 1+rng.IntN(4), 1+rng.IntN(6)
		v := random(t, rng, d, groups*each, 32)
		in := rows(t, v)
		lo := rng.IntN(each + 1)
		hi := lo + rng.IntN(each+1-lo)
		got, err := ApplyTransform(Transform{Kind: SliceEach, N: groups, A: lo, B: hi}, v)
		if err != nil {
			t.Fatal(err)
		}
		var want [][]float32
		for g := range groups {
			want = append(want, in[g*each+lo:g*each+hi]...)
		}
		if !same(rows(t, got), want) {
			t.Fatalf("%s: rows %d to %d of each of %d groups of %d", d, lo, hi, groups, each)
		}
		n := 1 + rng.IntN(4)
		first := rng.IntN(n)
		if got, err = ApplyTransform(Transform{Kind: StepRows, A: first, B: n}, v); err != nil {
			t.Fatal(err)
		}
		want = nil
		for i := first; i < len(in); i += n {
			want = append(want, in[i])
		}
		if !same(rows(t, got), want) {
			t.Fatalf("%s: rows %d, %d+%d… of %d", d, first, first, n, len(in))
		}
	}
}

// TestTransposeAndNegExp: blocks are computed with as their values.
func TestTransposeAndNegExp(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	for _, d := range rowTypes {
		v := random(t, rng, d, 3, 5, 32)
		in := rows(t, v)
		got, err := ApplyTransform(Transform{Kind: Transpose}, v)
		if err != nil || !got.Shape.Equal(tensor.Shape{3, 32, 5}) {
			t.Fatal(d, got.Shape, err)
		}
		if !d.Quantized() && got.DType != d {
			t.Errorf("%s became %s", d, got.DType)
		}
		flat, err := WeightToF32(got)
		if err != nil {
			t.Fatal(err)
		}
		x, _ := flat.F32()
		for m := range 3 {
			for i := range 5 {
				for j := range 32 {
					if x[(m*32+j)*5+i] != in[m][i*32+j] {
						t.Fatalf("%s: element %d, %d of matrix %d", d, i, j, m)
					}
				}
			}
		}
		if got, err = ApplyTransform(Transform{Kind: NegExp}, v); err != nil || got.DType != tensor.F32 {
			t.Fatal(d, err)
		}
		for i, row := range rows(t, got) {
			for j, y := range row {
				if want := -math.Exp(float64(in[i][j])); math.Abs(float64(y)-want) > 1e-6*-want {
					t.Fatalf("%s: −exp of %g is %g", d, in[i][j], y)
				}
			}
		}
	}
	for _, x := range []Transform{
		{Kind: SliceEach, N: 3, B: 1}, {Kind: SliceEach, B: 1}, {Kind: SliceEach, N: 2, A: 1, B: 3}, {Kind: StepRows, A: 2, B: 2}, {Kind: StepRows},
	} {
		if _, err := x.Apply(tensor.Shape{4, 2}); err == nil {
			t.Errorf("%+v was accepted", x)
		}
	}
	if _, err := (Transform{Kind: Transpose}).Apply(tensor.Shape{4}); err == nil {
		t.Error("a vector was transposed")
	}
}

// TestLocateFusedExperts: the matrices of experts that share a tensor with others
// are found where they are, and are what the recipe makes.
func TestLocateFusedExperts(t *testing.T) {
	const experts, each, d = 3, 8, 32
	rng := rand.New(rand.NewPCG(15, 16))
	v := random(t, rng, tensor.Q8_0, experts, 2*each, d)
	var b bytes.Buffer
	source := file.TensorSource{Name: "fused", DType: v.DType, Shape: v.Shape, Write: func(w io.Writer) error { _, err := w.Write(v.Data); return err }}
	if err := file.EncodeGGUF(&b, file.Metadata{}, []file.TensorSource{source}); err != nil {
		t.Fatal(err)
	}
	desc, err := file.OpenBytes("fused.gguf", b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	fused, _ := desc.Tensor("fused")
	w := &Weight{Name: "up", Shape: tensor.Shape{experts * each, d}, Sources: []string{"fused"}, Transform: []Transform{
		{Kind: Reshape, Shape: tensor.Shape{experts * 2 * each, d}},
		{Kind: SliceEach, N: experts, A: each, B: 2 * each},
	}}
	whole, err := MaterializeOne(*w, desc)
	if err != nil {
		t.Fatal(err)
	}
	at, ok := LocateExperts(w, experts, desc)
	if !ok {
		t.Fatal("not found")
	}
	size := len(whole.Data) / experts
	for e, l := range at {
		if !slices.Equal(l.View.Data, whole.Data[e*size:(e+1)*size]) || l.Offset != fused.Offset+int64((2*e+1)*size) {
			t.Errorf("expert %d is at %d", e, l.Offset)
		}
	}
	w.Transform = append([]Transform{{Kind: Transpose}}, w.Transform...)
	if _, ok := LocateExperts(w, experts, desc); ok {
		t.Error("transposed experts were found")
	}
}
