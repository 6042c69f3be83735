//go:build !amd64 || noasm

package kernel

const hasPairs = false

func matMulPairs(dst []float32, dstStride int, w *Matrix, lo, hi int, x []byte, rows int) {
	matMulPairsGeneric(dst, dstStride, w, lo, hi, x, rows)
}

func storeBF16(dst []byte, src []float32) { storeBF16Generic(dst, src) }
