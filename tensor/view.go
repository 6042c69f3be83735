package tensor

import (
	"fmt"
	"unsafe"
)

// A View is bytes with an element type and a shape, row-major. It does not own
// the bytes: they may be a mapped file and must not be written unless the
// function that made the view allows it.
type View struct {
	DType DType
	Shape Shape
	Data  []byte
}

// NewView returns a view of data, and an error unless data has exactly the size
// of the type and shape.
func NewView(d DType, s Shape, data []byte) (View, error) {
	n, err := s.Bytes(d)
	if err != nil {
		return View{}, err
	}
	if n != len(data) {
		return View{}, fmt.Errorf("%s %v needs %d bytes, got %d", d, s, n, len(data))
	}
	return View{d, s, data}, nil
}

// FromF32 returns a view of values without copying. len(values) must equal the
// size of the shape.
func FromF32(s Shape, values []float32) View {
	return View{F32, s, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), 4*len(values))}
}

// F32 returns the values of an F32 view without copying. It returns false for
// other types and for bytes that are not aligned to 4.
func (v View) F32() ([]float32, bool) {
	if v.DType != F32 || uintptr(unsafe.Pointer(unsafe.SliceData(v.Data)))%4 != 0 {
		return nil, false
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(v.Data))), len(v.Data)/4), true
}

// Rows returns rows [lo, hi), with the leading axes flattened, as a matrix
// [hi-lo, cols]. The view must have at least one axis.
func (v View) Rows(lo, hi int) View {
	row := 0
	if n := v.Shape.Rows(); n > 0 {
		row = len(v.Data) / n
	}
	return View{v.DType, Shape{hi - lo, v.Shape.Cols()}, v.Data[lo*row : hi*row : hi*row]}
}
