package kernel

import (
	"encoding/binary"
	"math"

	"atenia/tensor"
)

// A tile is the partial sums of four weight rows with one activation row;
// kernels work on several tiles, for consecutive activation rows, at once.
// Weight rows a caller has fewer than four of repeat, and their sums are
// dropped: what is computed for one row never depends on the others.
type tile [4]lanes

// foldGeneric writes the sums of the first n weight rows of each tile, times
// scale.
func foldGeneric(acc []tile, dst []float32, dstStride, n int, scale float32) {
	for r := range acc {
		out := dst[r*dstStride:][:n]
		for j := range out {
			out[j] = acc[r][j].sum() * scale
		}
	}
}

// tileFloatGeneric adds the products of n columns of four rows of plain
// floats, from their starts, with len(acc) activation rows.
func tileFloatGeneric(acc []tile, d tensor.DType, w *[4][]byte, x []float32, xStride, n int) {
	for r := range acc {
		for j := range 4 {
			dotLanes(&acc[r][j], d, w[j], x[r*xStride:], n)
		}
	}
}

func dotLanes(a *lanes, d tensor.DType, w []byte, x []float32, n int) {
	x = x[:n]
	le := binary.LittleEndian
	switch d {
	case tensor.F32:
		for i, v := range x {
			a[i%16] = fma32(math.Float32frombits(le.Uint32(w[4*i:])), v, a[i%16])
		}
	case tensor.F16:
		for i, v := range x {
			a[i%16] = fma32(tensor.F16ToF32(le.Uint16(w[2*i:])), v, a[i%16])
		}
	case tensor.BF16:
		for i, v := range x {
			a[i%16] = fma32(tensor.BF16ToF32(le.Uint16(w[2*i:])), v, a[i%16])
		}
	case tensor.F64: // rounded to float32 first, as loading a row does
		for i, v := range x {
			a[i%16] = fma32(float32(math.Float64frombits(le.Uint64(w[8*i:]))), v, a[i%16])
		}
	}
}

// expandGeneric writes the first len(dst) values of a block in float32.
func expandGeneric(dst []float32, w *wBlock) {
	for i := range dst {
		dst[i] = float32(w.s[i/16]*float32(w.q[i])) - w.m[i/16]
	}
}
