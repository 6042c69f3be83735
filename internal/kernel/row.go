package kernel

import (
	"encoding/binary"
	"math"
	"unsafe"

	"atenia/tensor"
)

func bytesOf(x []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 4*len(x))
}

// LoadRow dequantizes the first len(dst) values of a row exactly; len(dst) must
// be a whole number of blocks. Values of F64 are rounded to float32.
func LoadRow(dst []float32, d tensor.DType, src []byte) {
	src = src[:typeRowBytes(d, len(dst))]
	loadCols(dst, d, src, 0)
}

// loadCols dequantizes len(dst) values from column c, a multiple of 256.
func loadCols(dst []float32, d tensor.DType, row []byte, c int) {
	le := binary.LittleEndian
	switch d {
	case tensor.F32:
		copy(bytesOf(dst), row[4*c:])
	case tensor.F16:
		loadF16(dst, row[2*c:])
	case tensor.BF16:
		loadBF16(dst, row[2*c:])
	case tensor.Q8_0:
		loadQ8(dst, row[c/32*34:])
	case tensor.F64:
		row = row[8*c:]
		for i := range dst {
			dst[i] = float32(math.Float64frombits(le.Uint64(row[8*i:])))
		}
	default:
		var w UnpackedBlock
		for i := 0; i < len(dst); i += blockCols {
			n := min(blockCols, len(dst)-i)
			unpack(&w, d, row, c+i, n)
			expand(dst[i:i+n], &w)
		}
	}
}

// expandGeneric writes the first len(dst) values of a block in float32.
func expandGeneric(dst []float32, w *UnpackedBlock) {
	for i := range dst {
		dst[i] = float32(w.S[i/16]*float32(w.Q[i])) - w.M[i/16]
	}
}

func loadF16Generic(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = tensor.F16ToF32(binary.LittleEndian.Uint16(src[2*i:]))
	}
}

func loadQ8Generic(dst []float32, src []byte) {
	for i := 0; i < len(dst); i += 32 {
		d := half(src)
		for k, q := range src[2:34] {
			dst[i+k] = d * float32(int8(q))
		}
		src = src[34:]
	}
}

func loadBF16Generic(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = tensor.BF16ToF32(binary.LittleEndian.Uint16(src[2*i:]))
	}
}

// StoreRow writes values as F32, F16 or Q8_0, the types of [Rows]. dst has
// the type's row size; for Q8_0 len(src) is a multiple of 32 and the rounding
// is ggml's: scale max|x|/127 as a half, quants rounded half away from zero
// with the scale before it became a half.
func StoreRow(dst []byte, d tensor.DType, src []float32) {
	dst = dst[:typeRowBytes(d, len(src))]
	switch d {
	case tensor.F32:
		copy(dst, bytesOf(src))
	case tensor.F16:
		storeF16(dst, src)
	case tensor.Q8_0:
		for i := 0; i+32 <= len(src); i += 32 {
			storeQ8(dst[i/32*34:], src[i:i+32])
		}
	}
}

func storeF16Generic(dst []byte, src []float32) {
	for i, v := range src {
		binary.LittleEndian.PutUint16(dst[2*i:], tensor.F32ToF16(v))
	}
}

func storeQ8(dst []byte, src []float32) {
	var amax float32
	for _, v := range src {
		amax = max(amax, float32(math.Abs(float64(v))))
	}
	d := amax / 127
	var inv float32
	if d > 0 {
		inv = 1 / d
	}
	binary.LittleEndian.PutUint16(dst, tensor.F32ToF16(d))
	for i, v := range src {
		q := float64(v * inv)
		dst[2+i] = byte(int8(max(-128, min(127, math.Trunc(q+math.Copysign(0.5, q))))))
	}
}

func half(b []byte) float32 { return tensor.F16ToF32(binary.LittleEndian.Uint16(b)) }
