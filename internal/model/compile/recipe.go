package compile

import (
	"fmt"

	"atenia/tensor"
)

// A Weight describes how one weight of a plan is made from tensors of a file:
// the sources joined along their rows, then the transforms in order. A weight
// with Const has no sources.
type Weight struct {
	Name      string // as in a plan's weight table
	Shape     tensor.Shape
	Sources   []string    `json:",omitempty"`
	Transform []Transform `json:",omitempty"`
	Const     []float32   `json:",omitempty"`
}

// A Kind names a pure function on tensors.
type Kind string

// The transforms. Those that move whole rows work on any element type, including
// block formats, because blocks run along the innermost axis; AddConst and NegExp
// compute values as F32, and so does Transpose of blocks.
const (
	SliceRows    Kind = "slice_rows"    // rows [A, B)
	PermuteHeads Kind = "permute_heads" // each of A heads: rows i and i+B/2 of its first B become 2i and 2i+1
	SliceEach    Kind = "slice_each"    // rows [A, B) of each of N groups of rows
	StepRows     Kind = "step_rows"     // rows A, A+B, A+2·B, …
	AddConst     Kind = "add_const"     // every value + Value
	NegExp       Kind = "neg_exp"       // −e^value
	Transpose    Kind = "transpose"     // the last two axes exchanged
	Reshape      Kind = "reshape"       // to Shape, same values in the same order
)

// A Transform is one step from a file's tensor to a weight.
type Transform struct {
	Kind  Kind
	A, B  int          `json:",omitempty"`
	N     int          `json:",omitempty"`
	Value float32      `json:",omitempty"`
	Shape tensor.Shape `json:",omitempty"`
}

// RowWise reports whether the transform only moves whole rows.
func (t Transform) RowWise() bool {
	return t.Kind != AddConst && t.Kind != NegExp && t.Kind != Transpose
}

// Sliced returns the source rows that a transform of s takes, in order, as runs
// [first, end); ok is false for transforms that do more than that.
func (t Transform) Sliced(s tensor.Shape) (runs [][2]int, ok bool) {
	switch t.Kind {
	case SliceRows:
		return [][2]int{{t.A, t.B}}, true
	case SliceEach:
		for i := range t.N {
			at := i * (s[0] / t.N)
			runs = append(runs, [2]int{at + t.A, at + t.B})
		}
		return runs, true
	case StepRows:
		for i := t.A; i < s[0]; i += t.B {
			runs = append(runs, [2]int{i, i + 1})
		}
		return runs, true
	}
	return nil, false
}

// Apply returns the shape that results from s, or why the transform does not
// apply.
func (t Transform) Apply(s tensor.Shape) (tensor.Shape, error) {
	if _, ok := s.Size(); !ok {
		return nil, fmt.Errorf("%s: shape %v is not one of a tensor", t.Kind, s)
	}
	bad := func() error { return fmt.Errorf("%s(%d, %d) of shape %v", t.Kind, t.A, t.B, s) }
	switch t.Kind {
	case SliceRows:
		if len(s) == 0 || t.A < 0 || t.B < t.A || t.B > s[0] {
			return nil, bad()
		}
		out := append(tensor.Shape(nil), s...)
		out[0] = t.B - t.A
		return out, nil
	case SliceEach:
		if len(s) == 0 || t.N < 1 || s[0]%t.N != 0 || t.A < 0 || t.B < t.A || t.B > s[0]/t.N {
			return nil, bad()
		}
		out := append(tensor.Shape(nil), s...)
		out[0] = t.N * (t.B - t.A)
		return out, nil
	case StepRows:
		if len(s) == 0 || t.A < 0 || t.B < 1 || t.A >= t.B {
			return nil, bad()
		}
		out := append(tensor.Shape(nil), s...)
		out[0] = (s[0] - t.A + t.B - 1) / t.B
		return out, nil
	case Transpose:
		if len(s) < 2 {
			return nil, bad()
		}
		out, n := append(tensor.Shape(nil), s...), len(s)
		out[n-2], out[n-1] = s[n-1], s[n-2]
		return out, nil
	case PermuteHeads:
		if len(s) == 0 || t.A < 1 || s[0]%t.A != 0 || t.B < 0 || t.B%2 != 0 || t.B > s[0]/t.A {
			return nil, bad()
		}
		return s, nil
	case AddConst, NegExp:
		return s, nil
	case Reshape:
		n, _ := s.Size()
		if m, ok := t.Shape.Size(); !ok || m != n {
			return nil, fmt.Errorf("reshape of %v to %v", s, t.Shape)
		}
		return t.Shape, nil
	}
	return nil, fmt.Errorf("unknown transform %q", t.Kind)
}
