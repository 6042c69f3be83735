package tensor

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A Shape lists sizes from the outermost axis to the innermost: a weight matrix
// is [out, in]. The empty shape is a scalar. Shapes are slices: copy one before
// changing it.
type Shape []int

// ErrShape matches every [*ShapeError].
var ErrShape = errors.New("shape mismatch")

// A ShapeError says which operation met which shapes. It matches [ErrShape].
type ShapeError struct {
	Op        string
	Want, Got Shape
}

// Error implements error.
func (e *ShapeError) Error() string {
	return fmt.Sprintf("%s: want shape %v, got %v", e.Op, e.Want, e.Got)
}

// Is reports whether target is [ErrShape].
func (e *ShapeError) Is(target error) bool { return target == ErrShape }

// Size returns the number of values, and false if it overflows or a size is
// negative.
func (s Shape) Size() (int, bool) {
	n := 1
	for _, d := range s {
		if d < 0 {
			return 0, false
		}
		if d > 0 && n > math.MaxInt/d {
			return 0, false
		}
		n *= d
	}
	return n, true
}

// Cols returns the innermost size, 1 for a scalar.
func (s Shape) Cols() int {
	if len(s) == 0 {
		return 1
	}
	return s[len(s)-1]
}

// Rows returns the product of all sizes but the innermost. It does not check
// for overflow: call Size first for untrusted shapes.
func (s Shape) Rows() int {
	n := 1
	for _, d := range s[:max(0, len(s)-1)] {
		n *= d
	}
	return n
}

// Equal reports whether the shapes have the same sizes.
func (s Shape) Equal(t Shape) bool { return slices.Equal(s, t) }

// String prints "[4096, 1024]".
func (s Shape) String() string {
	parts := make([]string, len(s))
	for i, d := range s {
		parts[i] = strconv.Itoa(d)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// Bytes returns the size of a tensor of this shape. It returns an error if rows
// are not whole blocks or the size overflows.
func (s Shape) Bytes(d DType) (int, error) {
	if _, ok := s.Size(); !ok {
		return 0, fmt.Errorf("shape %v overflows", s)
	}
	row, err := d.RowBytes(s.Cols())
	if err != nil {
		return 0, err
	}
	rows := s.Rows()
	if row > 0 && rows > math.MaxInt/row {
		return 0, fmt.Errorf("shape %v of %s overflows", s, d)
	}
	return rows * row, nil
}
