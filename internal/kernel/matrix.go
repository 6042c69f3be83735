package kernel

import (
	"unsafe"

	"atenia/tensor"
)

// A Matrix is weights [Rows, Cols], row-major and contiguous. Data may be a
// mapped file and is never written. len(Data) must be Rows times the type's row
// size, and Cols a whole number of its blocks.
type Matrix struct {
	DType      tensor.DType
	Rows, Cols int
	Data       []byte
	// Tiles is the packed form, [Matrix.Pack] of all rows, or nil. Products read it
	// instead of Data, which may then be nil; only [MatMul] of quantized weights
	// still reads Data.
	Tiles []byte
}

// Supports reports whether products and [LoadRow] support the element type.
func Supports(d tensor.DType) bool {
	switch d {
	case tensor.F32, tensor.F16, tensor.BF16, tensor.F64,
		tensor.Q8_0, tensor.Q4_0, tensor.Q4_1, tensor.Q5_0, tensor.Q5_1,
		tensor.Q2_K, tensor.Q3_K, tensor.Q4_K, tensor.Q5_K, tensor.Q6_K, tensor.Q8_K,
		tensor.IQ4_NL, tensor.IQ4_XS, tensor.MXFP4:
		return true
	}
	return false
}

// rowBytes returns the size of one row of w.
func (w *Matrix) rowBytes() int { return typeRowBytes(w.DType, w.Cols) }

func typeRowBytes(d tensor.DType, cols int) int {
	values, bytes := d.Block()
	return cols / values * bytes
}

// floats views bytes as float32 values.
func floats(b []byte) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}
