package compile

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"atenia/internal/model/file"
	"atenia/internal/model/quant"
	"atenia/tensor"
)

// random returns a view of the type and shape, quantized from random values.
func random(t *testing.T, rng *rand.Rand, d tensor.DType, shape ...int) tensor.View {
	t.Helper()
	s := tensor.Shape(shape)
	n, _ := s.Size()
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
	size, err := s.Bytes(d)
	if err != nil {
		t.Fatal(err)
	}
	v := tensor.View{DType: d, Shape: s, Data: make([]byte, size)}
	if err := quant.Quantize(v.Data, d, x, nil); err != nil {
		t.Fatal(err)
	}
	return v
}

// rows returns a view as float32 rows along its first axis.
func rows(t *testing.T, v tensor.View) [][]float32 {
	t.Helper()
	f, err := WeightToF32(v)
	if err != nil {
		t.Fatal(err)
	}
	x, _ := f.F32()
	var out [][]float32
	for r := range slices.Chunk(x, max(1, len(x)/max(1, v.Shape[0]))) {
		out = append(out, r)
	}
	return out
}

var rowTypes = []tensor.DType{tensor.F32, tensor.F16, tensor.BF16, tensor.Q8_0, tensor.Q4_0}

// TestRowTransforms: on any type, moving rows of the stored form equals moving
// rows of the values.
func TestRowTransforms(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		d := rowTypes[rng.IntN(len(rowTypes))]
		heads, half, rest := 1+rng.IntN(4), 1+rng.IntN(4), rng.IntN(3)
		width := 2*half + rest
		v := random(t, rng, d, heads*width, 32*(1+rng.IntN(2)))
		before := slices.Clone(v.Data)
		in := rows(t, v)

		lo := rng.IntN(len(in) + 1)
		hi := lo + rng.IntN(len(in)+1-lo)
		got, err := ApplyTransform(Transform{Kind: SliceRows, A: lo, B: hi}, v)
		if err != nil || !same(rows(t, got), in[lo:hi]) {
			t.Fatalf("%s rows %d to %d of %d: %v", d, lo, hi, len(in), err)
		}

		got, err = ApplyTransform(Transform{Kind: PermuteHeads, A: heads, B: 2 * half}, v)
		if err != nil {
			t.Fatal(err)
		}
		for i, row := range rows(t, got) {
			head, at := i/width, i%width
			from := at
			if at < 2*half { // stored row 2j is row j, 2j+1 is row j+half
				from = at/2 + at%2*half
			}
			if !slices.Equal(row, in[head*width+from]) {
				t.Fatalf("%s: row %d of %d heads of %d, %d rotated", d, i, heads, width, 2*half)
			}
		}

		// Groups of rows [group, part, row] become [part, group, row].
		parts := tensor.Shape{heads * half, heads * rest, heads * half}
		got, err = ApplyTransform(Transform{Kind: Ungroup, A: heads, Shape: parts}, v)
		if err != nil {
			t.Fatal(err)
		}
		var want [][]float32
		for _, part := range [][2]int{{0, half}, {half, half + rest}, {half + rest, width}} {
			for g := range heads {
				want = append(want, in[g*width+part[0]:g*width+part[1]]...)
			}
		}
		if !same(rows(t, got), want) {
			t.Fatalf("%s: %d groups of %d, %d and %d rows", d, heads, half, rest, half)
		}

		got, err = ApplyTransform(Transform{Kind: Transpose}, v)
		if err != nil {
			t.Fatal(err)
		}
		for i, row := range rows(t, got) {
			for j, x := range row {
				if x != in[j][i] {
					t.Fatalf("%s turned: [%d, %d]", d, i, j)
				}
			}
		}

		other := random(t, rng, d, 1+rng.IntN(3), v.Shape[1])
		got, err = joinRows([]tensor.View{v, other})
		if err != nil || !same(rows(t, got), append(slices.Clone(in), rows(t, other)...)) {
			t.Fatalf("%s joined: %v", d, err)
		}
		if !slices.Equal(before, v.Data) {
			t.Fatal("a transform wrote to its input")
		}
	}
}

func same(a, b [][]float32) bool {
	return slices.EqualFunc(a, b, func(x, y []float32) bool { return slices.Equal(x, y) })
}

func TestAddConstAndReshape(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, d := range rowTypes {
		v := random(t, rng, d, 2, 3, 32)
		plus, err := ApplyTransform(Transform{Kind: AddConst, Value: 1}, v)
		if err != nil || plus.DType != tensor.F32 {
			t.Fatal(d, err)
		}
		for i, row := range rows(t, v) {
			for k := range row {
				if rows(t, plus)[i][k] != row[k]+1 {
					t.Fatalf("%s: value %d of %d", d, k, i)
				}
			}
		}
		flat, err := ApplyTransform(Transform{Kind: Reshape, Shape: tensor.Shape{6, 32}}, v)
		if err != nil || unsafe.SliceData(flat.Data) != unsafe.SliceData(v.Data) {
			t.Errorf("%s: reshape copies: %v", d, err)
		}
	}
	if _, err := ApplyTransform(Transform{Kind: Reshape, Shape: tensor.Shape{64, 1}}, random(t, rng, tensor.Q8_0, 2, 32)); err == nil {
		t.Error("a reshape that cuts blocks was accepted")
	}
}

// TestTransformFaults: recipes that do not fit are errors.
func TestTransformFaults(t *testing.T) {
	v := tensor.FromF32(tensor.Shape{4, 2}, make([]float32, 8))
	for _, x := range []Transform{
		{Kind: SliceRows, A: 2, B: 5}, {Kind: SliceRows, A: -1, B: 1}, {Kind: SliceRows, A: 3, B: 2},
		{Kind: Ungroup, A: 2, Shape: tensor.Shape{2, 3}}, {Kind: Ungroup, Shape: tensor.Shape{4}}, {Kind: Ungroup, A: 1, Shape: tensor.Shape{2}},
		{Kind: PermuteHeads, A: 3, B: 2}, {Kind: PermuteHeads, A: 0, B: 2}, {Kind: PermuteHeads, A: 2, B: 4}, {Kind: PermuteHeads, A: 1, B: 3},
		{Kind: Reshape, Shape: tensor.Shape{9}}, {Kind: Reshape, Shape: tensor.Shape{-8, -1}}, {Kind: "rotate"},
	} {
		if _, err := ApplyTransform(x, v); err == nil {
			t.Errorf("%+v of %v was accepted", x, v.Shape)
		}
	}
	if _, err := joinRows([]tensor.View{v, tensor.FromF32(tensor.Shape{4, 3}, make([]float32, 12))}); err == nil {
		t.Error("rows of different widths were joined")
	}
	if _, err := joinRows(nil); err == nil {
		t.Error("nothing was joined")
	}
}

// TestMaterialise: tensors without a transformation share the file's memory,
// vectors are float32, and misaligned values are copied.
func TestMaterialise(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	matrix, q8 := random(t, rng, tensor.F32, 8, 32), random(t, rng, tensor.Q8_0, 8, 32)
	vector, double := random(t, rng, tensor.BF16, 32), tensor.View{DType: tensor.F64, Shape: tensor.Shape{1, 2}, Data: make([]byte, 16)}
	shifted := tensor.View{DType: tensor.F32, Shape: matrix.Shape, Data: append(make([]byte, 1, 1+len(matrix.Data)), matrix.Data...)[1:]}
	d := &file.Description{}
	m := &Model{Weights: map[string]Weight{"const": {Name: "const", Shape: tensor.Shape{2}, Const: []float32{1, 2}}}}
	for name, v := range map[string]tensor.View{"matrix": matrix, "q8": q8, "vector": vector, "double": double, "shifted": shifted} {
		d.Tensors = append(d.Tensors, file.Tensor{Name: name + ".weight", View: v})
		m.Weights[name] = Weight{Name: name, Shape: v.Shape, Sources: []string{name + ".weight"}}
	}
	got, err := Materialize(m, d)
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]tensor.View{"matrix": matrix, "q8": q8} {
		if unsafe.SliceData(got[name].Data) != unsafe.SliceData(v.Data) {
			t.Errorf("%s was copied", name)
		}
	}
	if v := got["vector"]; v.DType != tensor.F32 || !same(rows(t, v), rows(t, vector)) {
		t.Errorf("vector is %s", v.DType)
	}
	if v := got["double"]; v.DType != tensor.F32 {
		t.Errorf("double is %s", v.DType)
	}
	if x, ok := got["shifted"].F32(); !ok || !same(rows(t, got["shifted"]), rows(t, matrix)) {
		t.Errorf("shifted: %d values, aligned %v", len(x), ok)
	}
	if x, ok := got["const"].F32(); !ok || !slices.Equal(x, []float32{1, 2}) {
		t.Errorf("const: %v", x)
	}
	if len(m.Diagnostics) != 1 || m.Diagnostics[0].Code != "converted" {
		t.Errorf("diagnostics %v", m.Diagnostics)
	}
}

// TestMakeFaults: a recipe that the file does not fit names weight and tensor.
func TestMakeFaults(t *testing.T) {
	v := tensor.FromF32(tensor.Shape{2, 2}, make([]float32, 4))
	find := func(name string) (tensor.View, bool) {
		switch name {
		case "a":
			return v, true
		case "short":
			return tensor.View{DType: tensor.F32, Shape: tensor.Shape{2, 2}, Data: v.Data[:15]}, true
		}
		return tensor.View{}, false
	}
	for _, w := range []Weight{
		{Name: "w", Shape: tensor.Shape{2, 2}, Sources: []string{"missing"}},
		{Name: "w", Shape: tensor.Shape{2, 2}, Sources: []string{"short"}},
		{Name: "w", Shape: tensor.Shape{2, 3}, Sources: []string{"a"}},
		{Name: "w", Shape: tensor.Shape{3}, Const: []float32{1}},
		{Name: "w", Shape: tensor.Shape{2, 2}, Sources: []string{"a"}, Transform: []Transform{{Kind: SliceRows, B: 3}}},
	} {
		_, err := MakeWeight(w, find)
		if e, ok := errors.AsType[*MaterializeError](err); !ok || e.Weight != "w" {
			t.Errorf("%+v: %v", w, err)
		}
	}
}
