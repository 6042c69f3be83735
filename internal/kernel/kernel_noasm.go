//go:build !(amd64 || arm64) || noasm

package kernel

import (
	"atenia/tensor"
)

// The portable functions under the names of the assembly ones.

var variants = []string{"portable"}

func matMulInt(dst []float32, dstStride int, w *Matrix, lo, hi int, x xRows, rows int) {
	matMulIntGeneric(dst, dstStride, w, lo, hi, x, rows)
}

func matMulTiles(dst []float32, dstStride int, w *Matrix, lo, hi int, x xRows, rows int) {
	matMulTilesGeneric(dst, dstStride, w, lo, hi, x, rows)
}

func quantize(dst *xBlock, cells []xCell, stride int, src *[256]float32) {
	quantizeGeneric(dst, cells, stride, src)
}

func matMulFloats(dst []float32, dstStride int, w *Matrix, lo, hi int, x []float32, xStride, rows int) {
	matMulFloatsGeneric(dst, dstStride, w, lo, hi, x, xStride, rows)
}

func (w *Matrix) packColumns(dst []byte, j, c, n int) {
	w.packColumnsGeneric(dst, j, c, n)
}

func unpack(dst *UnpackedBlock, d tensor.DType, row []byte, c, n int) {
	unpackBlock(dst, d, row, c, n)
}

func expand(dst []float32, w *UnpackedBlock) { expandGeneric(dst, w) }

func sumLanes(a *lanes64, x []float32) { sumLanesGeneric(a, x) }

func sumSquaresLanes(a *lanes64, x []float32, mean float64) { sumSquaresLanesGeneric(a, x, mean) }

func normalize(dst, src, weight, bias []float32, mean, inv, offset float32) {
	normalizeGeneric(dst, src, weight, bias, mean, inv, offset)
}

func addScaled(dst, a, b []float32, scale float32) { addScaledGeneric(dst, a, b, scale) }

func mul(dst, a, b []float32) { mulGeneric(dst, a, b) }

func scaleBy(dst []float32, s float32) { scaleByGeneric(dst, s) }

func ropeHalves(a, b, cos, sin []float32) { ropeHalvesGeneric(a, b, cos, sin) }

func ropeInterleaved(x, cos, sin []float32) { ropeInterleavedGeneric(x, cos, sin) }

func apply(op unary, dst, src []float32) { applyGeneric(op, dst, src) }

func expSum(a *lanes, x []float32, top float32) { expSumGeneric(a, x, top) }

func loadF16(dst []float32, src []byte) { loadF16Generic(dst, src) }

func storeF16(dst []byte, src []float32) { storeF16Generic(dst, src) }

func weightedTiles(dst, p []float32, n int, v *Rows, lo, hi int) {
	weightedGeneric(dst, p, n, v, lo, hi, 0)
}

func readAll(b []byte) { readAllGeneric(b) }

func fmaLoop(steps int) float64 { return fmaLoopGeneric(steps) }

func dotLoop(steps int) float64 { return dotLoopGeneric(steps) }

func maxOf(x []float32) float32 { return maxGeneric(x) }

func loadBF16(dst []float32, src []byte) { loadBF16Generic(dst, src) }

func loadQ8(dst []float32, src []byte) { loadQ8Generic(dst, src) }

func scoreTiles(dst, q []float32, n int, k *Rows, lo, hi int, scale float32) {
	scoresGeneric(dst, q, n, k, lo, hi, scale)
}
