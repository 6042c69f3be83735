package quant

import (
	"fmt"

	"atenia/tensor"
)

// A lengthError says that a buffer has the wrong size: Got bytes where Values
// values of the type take Want.
type lengthError struct {
	Op     string // "dequantize" or "quantize"
	DType  tensor.DType
	Values int
	Want   int // bytes
	Got    int // bytes
}

func (e *lengthError) Error() string {
	return fmt.Sprintf("%s %s: %d values take %d bytes, got %d", e.Op, e.DType, e.Values, e.Want, e.Got)
}

// A typeError says that an element type cannot be read or written, and which
// type to use instead.
type typeError struct {
	Op      string // "dequantize" or "quantize"
	DType   tensor.DType
	Instead tensor.DType // Invalid if there is no alternative
}

func (e *typeError) Error() string {
	if e.Instead == tensor.Invalid {
		return fmt.Sprintf("%s: unknown element type %s", e.Op, e.DType)
	}
	return fmt.Sprintf("%s: %s can be read but not written here, use %s instead", e.Op, e.DType, e.Instead)
}

// A NonFiniteError says that a value to quantize is an infinity or NaN. No block
// format can represent one without losing the other values of the block.
type NonFiniteError struct {
	Index int // position in the source
	Value float32
}

func (e *NonFiniteError) Error() string {
	return fmt.Sprintf("quantize: value %d is %v", e.Index, e.Value)
}

// A rangeError says that finite values are too large for the type: the
// half-precision scale of their block would be infinite.
type rangeError struct {
	DType tensor.DType
	Index int     // position of the block's value of largest magnitude
	Value float32 // that value
}

func (e *rangeError) Error() string {
	return fmt.Sprintf("quantize: value %d, %v, is beyond the range of %s", e.Index, e.Value, e.DType)
}

// An importanceError says why an importance vector was rejected: its length does
// not divide the source into rows of whole blocks (Index is then negative), or
// the weight at Index is negative or not finite.
type importanceError struct {
	DType       tensor.DType
	Values, Len int // values to quantize, weights given
	Index       int
	Value       float32
}

func (e *importanceError) Error() string {
	if e.Index < 0 {
		return fmt.Sprintf("quantize %s: %d importance weights do not fit rows of %d values", e.DType, e.Len, e.Values)
	}
	return fmt.Sprintf("quantize %s: importance weight %d is %v", e.DType, e.Index, e.Value)
}
