package quant

import (
	"encoding/binary"
	"math"

	"atenia/tensor"
)

//go:generate go run -C ../../../tools ./quantgrid -o ../internal/model/quant/zgrid.go

// A format is how a type's blocks are read and written. Both functions trust the
// lengths they are given.
type format struct {
	decode func(dst []float32, src []byte)    // whole blocks
	encode func(dst []byte, x, imp []float32) // one block; nil when read-only; imp may be nil
	halves []int                              // offsets of half-precision scales in a block
	use    tensor.DType                       // what to write instead of a read-only type
}

// formats is the table of readers and writers.
var formats = [tensor.NumDTypes]format{
	tensor.F32:     {decode: decodeF32, encode: encodeF32},
	tensor.F16:     {decode: decodeF16, encode: encodeF16, halves: []int{0}},
	tensor.BF16:    {decode: decodeBF16, encode: encodeBF16},
	tensor.F64:     {decode: decodeF64, use: tensor.F32},
	tensor.I8:      {decode: decodeI8, use: tensor.F32},
	tensor.I16:     {decode: decodeI16, use: tensor.F32},
	tensor.I32:     {decode: decodeI32, use: tensor.F32},
	tensor.I64:     {decode: decodeI64, use: tensor.F32},
	tensor.U8:      {decode: decodeU8, use: tensor.F32},
	tensor.U16:     {decode: decodeU16, use: tensor.F32},
	tensor.U32:     {decode: decodeU32, use: tensor.F32},
	tensor.U64:     {decode: decodeU64, use: tensor.F32},
	tensor.Bool:    {decode: decodeBool, use: tensor.F32},
	tensor.F8E4M3:  {decode: decodeF8E4M3, use: tensor.Q8_0},
	tensor.F8E5M2:  {decode: decodeF8E5M2, use: tensor.Q8_0},
	tensor.Q4_0:    {decode: decodeQ4_0, encode: encodeQ4_0, halves: []int{0}},
	tensor.Q4_1:    {decode: decodeQ4_1, encode: encodeQ4_1, halves: []int{0, 2}},
	tensor.Q5_0:    {decode: decodeQ5_0, encode: encodeQ5_0, halves: []int{0}},
	tensor.Q5_1:    {decode: decodeQ5_1, encode: encodeQ5_1, halves: []int{0, 2}},
	tensor.Q8_0:    {decode: decodeQ8_0, encode: encodeQ8_0, halves: []int{0}},
	tensor.Q8_1:    {decode: decodeQ8_1, encode: encodeQ8_1, halves: []int{0, 2}},
	tensor.Q2_K:    {decode: decodeQ2_K, encode: encodeQ2_K, halves: []int{80, 82}},
	tensor.Q3_K:    {decode: decodeQ3_K, encode: encodeQ3_K, halves: []int{108}},
	tensor.Q4_K:    {decode: decodeQ4_K, encode: encodeQ4_K, halves: []int{0, 2}},
	tensor.Q5_K:    {decode: decodeQ5_K, encode: encodeQ5_K, halves: []int{0, 2}},
	tensor.Q6_K:    {decode: decodeQ6_K, encode: encodeQ6_K, halves: []int{208}},
	tensor.Q8_K:    {decode: decodeQ8_K, encode: encodeQ8_K},
	tensor.IQ4_NL:  {decode: decodeIQ4_NL, encode: encodeIQ4_NL, halves: []int{0}},
	tensor.IQ4_XS:  {decode: decodeIQ4_XS, encode: encodeIQ4_XS, halves: []int{0}},
	tensor.MXFP4:   {decode: decodeMXFP4, encode: encodeMXFP4},
	tensor.IQ1_S:   {decode: decodeIQ1_S, use: tensor.Q2_K},
	tensor.IQ1_M:   {decode: decodeIQ1_M, use: tensor.Q2_K},
	tensor.IQ2_XXS: {decode: decodeIQ2_XXS, use: tensor.Q2_K},
	tensor.IQ2_XS:  {decode: decodeIQ2_XS, use: tensor.Q2_K},
	tensor.IQ2_S:   {decode: decodeIQ2_S, use: tensor.Q2_K},
	tensor.IQ3_XXS: {decode: decodeIQ3_XXS, use: tensor.Q3_K},
	tensor.IQ3_S:   {decode: decodeIQ3_S, use: tensor.Q3_K},
	tensor.TQ1_0:   {decode: decodeTQ1_0, encode: encodeTQ1_0, halves: []int{52}},
	tensor.TQ2_0:   {decode: decodeTQ2_0, encode: encodeTQ2_0, halves: []int{64}},
}

// Dequantize writes the values of src, whole blocks of type d, to dst. The
// result is exact if a float32 can hold it and otherwise rounded in the order
// that ggml prescribes, the same on every machine.
//
// It returns a [*typeError] for an invalid type, a [*tensor.BlockError] if dst
// is not a whole number of blocks and a [*lengthError] if the size of src does
// not match dst.
func Dequantize(dst []float32, d tensor.DType, src []byte) error {
	if int(d) >= len(formats) || formats[d].decode == nil {
		return &typeError{Op: "dequantize", DType: d}
	}
	if err := fits("dequantize", d, len(dst), len(src)); err != nil {
		return err
	}
	formats[d].decode(dst, src)
	return nil
}

// Finite returns a [*NonFiniteError] if a value is NaN or infinite.
func Finite(src []float32) error {
	for i, v := range src {
		if math.Float32bits(v)&^(1<<31) >= 0x7f800000 {
			return &NonFiniteError{i, v}
		}
	}
	return nil
}

// Quantize writes src, one or several rows of whole blocks, to dst in type d.
//
// importance weights the squared error of each column; nil weights all alike. It
// has one weight for each column of a row, so its length must divide len(src),
// and it is reused for every row. F32, F16, BF16, Q8_0, Q8_1, Q8_K, TQ1_0 and
// TQ2_0 leave nothing to choose and ignore it.
//
// A read-only type is a [*typeError] that names an alternative; infinities and
// NaN are a [*NonFiniteError], values too large for a half-precision scale a
// [*rangeError]; lengths are checked as in [Dequantize]. After an error the
// contents of dst are undefined.
func Quantize(dst []byte, d tensor.DType, src, importance []float32) error {
	if int(d) >= len(formats) || formats[d].encode == nil {
		e := &typeError{Op: "quantize", DType: d}
		if int(d) < len(formats) {
			e.Instead = formats[d].use
		}
		return e
	}
	if err := fits("quantize", d, len(src), len(dst)); err != nil {
		return err
	}
	if err := checkImportance(d, len(src), importance); err != nil {
		return err
	}
	limit := uint32(math.MaxUint32)
	if formats[d].halves != nil {
		limit = math.Float32bits(squareLimit)
	}
	var peak uint32 // the bits of magnitudes order like the magnitudes
	for i, v := range src {
		b := math.Float32bits(v) &^ (1 << 31)
		peak = max(peak, b)
		switch {
		case b >= 0x7f800000:
			return &NonFiniteError{i, v}
		case b > limit:
			return &rangeError{d, i, v}
		}
	}
	if len(src) == 0 {
		return nil
	}
	switch d { // one value per block: the loop below would be slow
	case tensor.F32:
		encodeF32(dst, src, nil)
		return nil
	case tensor.F16:
		encodeF16(dst, src, nil)
	case tensor.BF16:
		encodeBF16(dst, src, nil)
	default:
		values, bytes := d.Block()
		for i := 0; i < len(src); i += values {
			var imp []float32
			if importance != nil {
				at := i % len(importance)
				imp = importance[at : at+values]
			}
			at := i / values * bytes
			formats[d].encode(dst[at:at+bytes], src[i:i+values], imp)
		}
	}
	if peak <= math.Float32bits(safe) {
		return nil
	}
	return checkRange(dst, d, src)
}

// squareLimit exceeds the largest value of any format with half-precision scales
// (65504·128·32, in Q6_K), and is small enough that sums of cubes do not
// overflow while a block is fitted.
const squareLimit = 1 << 30

// safe is a magnitude that cannot overflow a half, not even in Q8_1's sum of 32.
const safe = 2000

// fits checks that size is the number of bytes that values values of type d
// take.
func fits(op string, d tensor.DType, values, size int) error {
	want, err := d.RowBytes(values)
	if err != nil {
		return err
	}
	if want != size {
		return &lengthError{op, d, values, want, size}
	}
	return nil
}

func checkImportance(d tensor.DType, values int, imp []float32) error {
	if imp == nil {
		return nil
	}
	block, _ := d.Block()
	if values > 0 && (len(imp) == 0 || values%len(imp) != 0 || len(imp)%block != 0) {
		return &importanceError{DType: d, Values: values, Len: len(imp), Index: -1}
	}
	for i, v := range imp {
		if !(v >= 0) || math.IsInf(float64(v), 1) {
			return &importanceError{DType: d, Values: values, Len: len(imp), Index: i, Value: v}
		}
	}
	return nil
}

// checkRange finds scales that became infinite. Only the finished block can
// tell, because the limit on a value depends on how the block was fitted.
func checkRange(dst []byte, d tensor.DType, src []float32) error {
	values, bytes := d.Block()
	for b := range len(dst) / bytes {
		bad := d == tensor.BF16 && binary.LittleEndian.Uint16(dst[2*b:])&0x7f80 == 0x7f80
		for _, off := range formats[d].halves {
			bad = bad || binary.LittleEndian.Uint16(dst[b*bytes+off:])&0x7c00 == 0x7c00
		}
		if bad {
			x := src[b*values : (b+1)*values]
			i := peakIndex(x)
			return &rangeError{d, b*values + i, x[i]}
		}
	}
	return nil
}
