package compile

import (
	"fmt"
	"slices"

	"atenia/tensor"
)

// outer returns the number and the size in bytes of the slices along a view's
// first axis. A vector of blocks has no slices of whole bytes.
func outer(v tensor.View) (n, size int, err error) {
	if len(v.Shape) == 0 || v.Shape[0] == 0 || len(v.Shape) == 1 && v.DType.Quantized() {
		return 0, 0, fmt.Errorf("a view of %s %v has no rows", v.DType, v.Shape)
	}
	return v.Shape[0], len(v.Data) / v.Shape[0], nil
}

// JoinRows concatenates views of the same type and row shape along the first axis. A
// single view is returned unchanged.
func JoinRows(vs []tensor.View) (tensor.View, error) {
	if len(vs) == 1 {
		return vs[0], nil
	}
	if len(vs) == 0 {
		return tensor.View{}, fmt.Errorf("nothing to join")
	}
	out := tensor.View{DType: vs[0].DType, Shape: slices.Clone(vs[0].Shape)}
	if _, _, err := outer(vs[0]); err != nil {
		return tensor.View{}, err
	}
	total := 0
	out.Shape[0] = 0
	for _, v := range vs {
		if v.DType != out.DType || len(v.Shape) != len(out.Shape) || !slices.Equal(v.Shape[1:], out.Shape[1:]) {
			return tensor.View{}, fmt.Errorf("join of %s %v with %s %v", vs[0].DType, vs[0].Shape, v.DType, v.Shape)
		}
		out.Shape[0] += v.Shape[0]
		total += len(v.Data)
	}
	out.Data = make([]byte, 0, total)
	for _, v := range vs {
		out.Data = append(out.Data, v.Data...)
	}
	return out, nil
}

// ApplyTransform performs one step of a recipe. It never writes to v; the result may
// share its memory.
func ApplyTransform(t Transform, v tensor.View) (tensor.View, error) {
	shape, err := t.Apply(v.Shape)
	if err != nil {
		return tensor.View{}, err
	}
	switch t.Kind {
	case SliceRows:
		_, size, err := outer(v)
		if err != nil {
			return tensor.View{}, err
		}
		lo, hi := t.A*size, t.B*size
		return tensor.View{DType: v.DType, Shape: shape, Data: v.Data[lo:hi:hi]}, nil
	case PermuteHeads:
		return permuteHeads(v, t.A, t.B)
	case AddConst:
		return addConst(v, t.Value)
	case Transpose:
		return transpose(v)
	case Ungroup:
		return ungroup(t, v)
	case Reshape:
		if v.DType.Quantized() && shape.Cols() != v.Shape.Cols() {
			return tensor.View{}, fmt.Errorf("reshape of %s %v to %v would cut blocks", v.DType, v.Shape, shape)
		}
		return tensor.View{DType: v.DType, Shape: shape, Data: v.Data}, nil
	}
	return tensor.View{}, fmt.Errorf("unknown transform %q", t.Kind)
}

// permuteHeads reorders the rows of each of n heads: of its first r rows, i and
// i+r/2 become 2i and 2i+1, so that elements that rope pairs as halves become
// neighbours.
func permuteHeads(v tensor.View, n, r int) (tensor.View, error) {
	rows, size, err := outer(v)
	if err != nil {
		return tensor.View{}, err
	}
	out := tensor.View{DType: v.DType, Shape: v.Shape, Data: slices.Clone(v.Data)}
	width := rows / n
	for head := range n {
		for i := range r / 2 {
			for half := range 2 {
				to := (head*width + 2*i + half) * size
				from := (head*width + i + half*r/2) * size
				copy(out.Data[to:to+size], v.Data[from:from+size])
			}
		}
	}
	return out, nil
}

func addConst(v tensor.View, c float32) (tensor.View, error) {
	out, err := WeightToF32(v)
	if err != nil {
		return tensor.View{}, err
	}
	x, _ := out.F32()
	for i := range x {
		x[i] += c
	}
	return out, nil
}

// transpose returns the matrix with rows and columns exchanged.
func transpose(v tensor.View) (tensor.View, error) {
	if v.DType.Quantized() {
		var err error
		if v, err = WeightToF32(v); err != nil {
			return tensor.View{}, err
		}
	}
	rows, cols := v.Shape[0], v.Shape[1]
	out := tensor.View{DType: v.DType, Shape: tensor.Shape{cols, rows}, Data: make([]byte, len(v.Data))}
	if rows == 0 || cols == 0 {
		return out, nil
	}
	size := len(v.Data) / (rows * cols)
	for r := range rows {
		for c := range cols {
			copy(out.Data[(c*rows+r)*size:][:size], v.Data[(r*cols+c)*size:])
		}
	}
	return out, nil
}

// ungroup collects the rows of each part from all groups.
func ungroup(t Transform, v tensor.View) (tensor.View, error) {
	rows, size, err := outer(v)
	if err != nil {
		return tensor.View{}, err
	}
	out := tensor.View{DType: v.DType, Shape: v.Shape, Data: make([]byte, 0, len(v.Data))}
	t.Moves(rows, func(from, _, n int) { out.Data = append(out.Data, v.Data[from*size:(from+n)*size]...) })
	return out, nil
}
