package compile

import (
	"fmt"
	"math"
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

// joinRows concatenates views of the same type and row shape along the first axis. A
// single view is returned unchanged.
func joinRows(vs []tensor.View) (tensor.View, error) {
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
	case SliceEach, StepRows, PickRows:
		return takeRows(t, v, shape)
	case PermuteHeads:
		return permuteHeads(v, t.A, t.B)
	case AddConst:
		return mapValues(v, func(x float32) float32 { return x + t.Value })
	case NegExp:
		return mapValues(v, func(x float32) float32 { return float32(-math.Exp(float64(x))) })
	case Transpose:
		return transpose(v, shape)
	case Ungroup:
		return ungroup(t, v)
	case PickCols:
		return pickCols(t, v, shape)
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

// takeRows copies the rows that a transform takes.
func takeRows(t Transform, v tensor.View, shape tensor.Shape) (tensor.View, error) {
	_, size, err := outer(v)
	if err != nil {
		return tensor.View{}, err
	}
	runs, _ := t.Sliced(v.Shape)
	out := tensor.View{DType: v.DType, Shape: shape, Data: make([]byte, 0, shape[0]*size)}
	for _, r := range runs {
		out.Data = append(out.Data, v.Data[r[0]*size:r[1]*size]...)
	}
	return out, nil
}

// pickCols copies the columns that a transform takes. Where they would cut blocks,
// the result is F32.
func pickCols(t Transform, v tensor.View, shape tensor.Shape) (tensor.View, error) {
	block, size := v.DType.Block()
	for _, r := range t.Ranges {
		if r[0]%block != 0 || r[1]%block != 0 {
			var err error
			if v, err = WeightToF32(v); err != nil {
				return tensor.View{}, err
			}
			block, size = v.DType.Block()
			break
		}
	}
	row := v.Shape.Cols() / block * size
	if row == 0 {
		return tensor.View{}, fmt.Errorf("a view of %s %v has no columns", v.DType, v.Shape)
	}
	out := tensor.View{DType: v.DType, Shape: shape, Data: make([]byte, 0, len(v.Data))}
	for at := 0; at < len(v.Data); at += row {
		for _, r := range t.Ranges {
			out.Data = append(out.Data, v.Data[at+r[0]/block*size:at+r[1]/block*size]...)
		}
	}
	return out, nil
}

// mapValues applies f to every value, as F32.
func mapValues(v tensor.View, f func(float32) float32) (tensor.View, error) {
	out, err := WeightToF32(v)
	if err != nil {
		return tensor.View{}, err
	}
	x, _ := out.F32()
	for i := range x {
		x[i] = f(x[i])
	}
	return out, nil
}

// transpose exchanges the last two axes. Blocks become F32, because they run along
// the last.
func transpose(v tensor.View, shape tensor.Shape) (tensor.View, error) {
	if v.DType.Quantized() {
		var err error
		if v, err = WeightToF32(v); err != nil {
			return tensor.View{}, err
		}
	}
	_, size := v.DType.Block()
	n := len(shape)
	rows, cols := v.Shape[n-2], v.Shape[n-1]
	out := tensor.View{DType: v.DType, Shape: shape, Data: aligned(v.Data)}
	for at := 0; at < len(v.Data); at += rows * cols * size {
		from, to := v.Data[at:], out.Data[at:]
		for i := range rows {
			for j := range cols {
				copy(to[(j*rows+i)*size:(j*rows+i+1)*size], from[(i*cols+j)*size:])
			}
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
