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

// tileIntGeneric adds the products of n columns of four rows of unpacked
// weights, wStride blocks apart, with len(acc) rows of prepared activations,
// xStride blocks apart. mins says whether the weights have minima.
func tileIntGeneric(acc []tile, w []wBlock, wStride int, x []xBlock, xStride, n int, mins bool) {
	for r := range acc {
		for j := range 4 {
			for b := 0; b*blockCols < n; b++ {
				dotBlock(&acc[r][j], &w[j*wStride+b], &x[r*xStride+b], min(blockCols, n-b*blockCols), mins)
			}
		}
	}
}

// dotBlock adds the products of n of 256 columns: minima first, one lane for
// each 16 columns, then 64 columns at a time, 4 columns to a lane.
func dotBlock(a *lanes, w *wBlock, x *xBlock, n int, mins bool) {
	if mins {
		for l := range a {
			a[l] = fma32(-w.m[l], x.m[l], a[l])
		}
	}
	for i := 0; i < n; i += 64 {
		wq, xq := (*[64]int8)(w.q[i:]), (*[64]uint8)(x.q[i:])
		for l := range a {
			sum := int32(wq[4*l])*(int32(xq[4*l])-128) +
				int32(wq[4*l+1])*(int32(xq[4*l+1])-128) +
				int32(wq[4*l+2])*(int32(xq[4*l+2])-128) +
				int32(wq[4*l+3])*(int32(xq[4*l+3])-128)
			a[l] = fma32(float32(sum), w.s[i/16+l/4]*x.d[i/32+l/8], a[l])
		}
	}
}

// expandGeneric writes the first len(dst) values of a block in float32.
func expandGeneric(dst []float32, w *wBlock) {
	for i := range dst {
		dst[i] = float32(w.s[i/16]*float32(w.q[i])) - w.m[i/16]
	}
}
