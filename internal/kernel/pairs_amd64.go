//go:build !noasm

package kernel

import (
	"atenia/internal/machine/cpu"
	"atenia/tensor"
)

var hasPairs = cpu.HasAVX512() && cpu.HasBF16()

// matMulPairs takes a pair of columns for one column of 4 bytes.
func matMulPairs(dst []float32, dstStride int, w *Matrix, lo, hi int, x []byte, rows int) {
	if !hasPairs || level.Load() != levelAVX512 {
		matMulPairsGeneric(dst, dstStride, w, lo, hi, x, rows)
		return
	}
	v := Matrix{DType: tensor.F32, Rows: w.Rows, Cols: w.Cols / 2, Data: w.Data}
	matMulElements(dst, dstStride, &v, lo, hi, floats(x), v.Cols, rows, true)
}

// pairDots multiplies one or two of n tiles from t on with rows from r on, and
// returns how many. w has their columns from c on.
func (p *floatProduct) pairDots(t, n, r, rows, c, cols int, w []byte, step int) int {
	d, x := &p.dst[r*p.dstStride+t*TileRows], &p.x[r*p.xStride+c]
	if n >= 2 {
		dotsPairsx2AVX512(d, 4*p.dstStride, &w[0], step, x, 4*p.xStride, cols, rows)
		return 2
	}
	dotsPairsx1AVX512(d, 4*p.dstStride, &w[0], step, x, 4*p.xStride, cols, rows)
	return 1
}

func storeBF16(dst []byte, src []float32) {
	n := whole(len(src), 8)
	if n > 0 {
		storeBF16AVX2(&dst[:2*n][0], &src[0], n)
	}
	storeBF16Generic(dst[2*n:], src[n:])
}
