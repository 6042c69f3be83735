package plan

import "atenia/tensor"

// A Layout is the order of a value's elements in memory.
type Layout uint8

// The layouts. A backend that keeps values in another order adds it here together with
// the kernels that read it: until then [Bind] refuses it, so that no kernel computes with
// rows in an order that it does not know.
const (
	Contiguous Layout = iota // row after row, without gaps
	NumLayouts
)

var layoutNames = [NumLayouts]string{"contiguous"}

// String returns the layout's name.
func (l Layout) String() string {
	if l < NumLayouts {
		return layoutNames[l]
	}
	return "layout?"
}

// A TensorViewDesc is all that an adapter is told about an operand besides where it is:
// [Bind] makes one for each and checks it against the opcode's [OpSpec], so that kernels
// need not. The first dimension of its shape is symbolic, the second is Cols; a value of
// rank 1 has one column.
type TensorViewDesc struct {
	DType   tensor.DType
	Rank    uint8
	Rows    RowKind
	Cols    uint32
	Strides [2]uint32 // elements from row to row, and from column to column
	Layout  Layout
}

// View describes a register as an operand.
func (s *RegSpec) View() TensorViewDesc {
	return TensorViewDesc{DType: s.DType, Rank: s.Rank, Rows: s.Rows, Cols: s.Cols, Strides: [2]uint32{s.Cols, 1}, Layout: s.Layout}
}

// checkView returns why an operand does not suit the opcode, or nil. index tells that it
// holds row numbers and not activations.
func (s *OpSpec) checkView(at int, what string, k int, v TensorViewDesc, index bool) error {
	rank := uint8(2)
	if index {
		rank = 1
	}
	switch {
	case v.Rank > MaxRank:
		return Errorf(ErrUnsupportedTensorRank, at, "%s %d of %s has rank %d, at most %d", what, k, s.Name, v.Rank, MaxRank)
	case v.Rank != rank:
		return Errorf(ErrUnsupportedTensorRank, at, "%s %d of %s has rank %d, want %d", what, k, s.Name, v.Rank, rank)
	case index && v.DType != tensor.I32:
		return Errorf(ErrInvalidPlan, at, "%s %d of %s has type %s, want %s", what, k, s.Name, v.DType, tensor.I32)
	case !index && !v.DType.Float():
		return Errorf(ErrInvalidPlan, at, "%s %d of %s has type %s, want a float", what, k, s.Name, v.DType)
	case v.Layout != Contiguous || v.Strides != [2]uint32{v.Cols, 1}:
		return Errorf(ErrInvalidPlan, at, "%s %d of %s has layout %s with strides %d, want %s rows of %d", what, k, s.Name, v.Layout, v.Strides, Contiguous, v.Cols)
	}
	return nil
}

// IsIndex reports whether input k holds row numbers.
func (s *OpSpec) IsIndex(k int) bool { return s.Index != noIndex && k+1 >= int(s.Index) }
