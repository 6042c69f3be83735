package tensor

import (
	"fmt"
	"math"
	"strings"
)

// A DType is the storage format of elements.
//
// Quantized types store a row in blocks, so sizes are computed with
// [DType.RowBytes] or [Shape.Bytes] rather than per element.
type DType uint8

// The element types. Quantized ones have their names in ggml.
const (
	Invalid DType = iota
	F32
	F16
	BF16
	F64
	I8
	I16
	I32
	I64
	U8
	U16
	U32
	U64
	Bool
	F8E4M3
	F8E5M2
	Q4_0
	Q4_1
	Q5_0
	Q5_1
	Q8_0
	Q8_1
	Q2_K
	Q3_K
	Q4_K
	Q5_K
	Q6_K
	Q8_K
	IQ4_NL
	IQ4_XS
	MXFP4
	IQ1_S
	IQ1_M
	IQ2_XXS
	IQ2_XS
	IQ2_S
	IQ3_XXS
	IQ3_S
	TQ1_0
	TQ2_0
	numDTypes
)

// NumDTypes is one more than the largest DType; tables are indexed by it.
const NumDTypes = int(numDTypes)

// layouts describes every element type.
var layouts = [numDTypes]struct {
	name          string
	values, bytes int // per block; plain types have blocks of one value
}{
	Invalid: {"INVALID", 1, 0},
	F32:     {"F32", 1, 4},
	F16:     {"F16", 1, 2},
	BF16:    {"BF16", 1, 2},
	F64:     {"F64", 1, 8},
	I8:      {"I8", 1, 1},
	I16:     {"I16", 1, 2},
	I32:     {"I32", 1, 4},
	I64:     {"I64", 1, 8},
	U8:      {"U8", 1, 1},
	U16:     {"U16", 1, 2},
	U32:     {"U32", 1, 4},
	U64:     {"U64", 1, 8},
	Bool:    {"BOOL", 1, 1},
	F8E4M3:  {"F8_E4M3", 1, 1},
	F8E5M2:  {"F8_E5M2", 1, 1},
	Q4_0:    {"Q4_0", 32, 18},
	Q4_1:    {"Q4_1", 32, 20},
	Q5_0:    {"Q5_0", 32, 22},
	Q5_1:    {"Q5_1", 32, 24},
	Q8_0:    {"Q8_0", 32, 34},
	Q8_1:    {"Q8_1", 32, 36},
	Q2_K:    {"Q2_K", 256, 84},
	Q3_K:    {"Q3_K", 256, 110},
	Q4_K:    {"Q4_K", 256, 144},
	Q5_K:    {"Q5_K", 256, 176},
	Q6_K:    {"Q6_K", 256, 210},
	Q8_K:    {"Q8_K", 256, 292},
	IQ4_NL:  {"IQ4_NL", 32, 18},
	IQ4_XS:  {"IQ4_XS", 256, 136},
	MXFP4:   {"MXFP4", 32, 17},
	IQ1_S:   {"IQ1_S", 256, 50},
	IQ1_M:   {"IQ1_M", 256, 56},
	IQ2_XXS: {"IQ2_XXS", 256, 66},
	IQ2_XS:  {"IQ2_XS", 256, 74},
	IQ2_S:   {"IQ2_S", 256, 82},
	IQ3_XXS: {"IQ3_XXS", 256, 98},
	IQ3_S:   {"IQ3_S", 256, 110},
	TQ1_0:   {"TQ1_0", 256, 54},
	TQ2_0:   {"TQ2_0", 256, 66},
}

// String returns the name as used in ggml and safetensors, such as "F32" or
// "Q4_K".
func (d DType) String() string {
	if d < numDTypes {
		return layouts[d].name
	}
	return fmt.Sprintf("DType(%d)", uint8(d))
}

// ParseDType parses a name as returned by [DType.String], ignoring case.
func ParseDType(s string) (DType, error) {
	up := strings.ToUpper(s)
	for d := Invalid + 1; d < numDTypes; d++ {
		if layouts[d].name == up {
			return d, nil
		}
	}
	return Invalid, fmt.Errorf("unknown element type %q", s)
}

// MarshalText implements [encoding.TextMarshaler].
func (d DType) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (d *DType) UnmarshalText(b []byte) (err error) {
	*d, err = ParseDType(string(b))
	return err
}

// Block returns the number of values per block and its size in bytes. Plain
// types have blocks of one value.
func (d DType) Block() (values, bytes int) {
	if d >= numDTypes {
		return 1, 0
	}
	return layouts[d].values, layouts[d].bytes
}

// Quantized reports whether values share the scale of a block.
func (d DType) Quantized() bool { return d >= Q4_0 && d < numDTypes }

// Float reports whether the type is a plain floating-point type.
func (d DType) Float() bool {
	switch d {
	case F32, F16, BF16, F64, F8E4M3, F8E5M2:
		return true
	}
	return false
}

// RowBytes returns the size of a row of n values. The error is a [*BlockError]
// if n is not a whole number of blocks; it also fails if the size overflows.
func (d DType) RowBytes(n int) (int, error) {
	v, b := d.Block()
	if n < 0 || n%v != 0 || b == 0 {
		return 0, &BlockError{d, n}
	}
	if n/v > math.MaxInt/b {
		return 0, &BlockError{d, n}
	}
	return n / v * b, nil
}

// A BlockError says that a row is not a whole number of a type's blocks.
type BlockError struct {
	DType  DType
	Values int
}

// Error implements error.
func (e *BlockError) Error() string {
	v, _ := e.DType.Block()
	return fmt.Sprintf("a row of %d values does not divide into blocks of %d (%s)", e.Values, v, e.DType)
}
