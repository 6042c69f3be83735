package kernel

import (
	"encoding/binary"
	"math"

	"atenia/tensor"
)

// pairChain is the number of columns in one chain of a product of pairs.
const pairChain = 2 * chainCols

// MultipliesPairs reports whether the machine has an instruction for
// [MatMulPairs]: AVX512_BF16. Without it the function is slow. It does not depend
// on the variant in use, so that a choice by it is a property of the machine.
func MultipliesPairs() bool { return hasPairs }

// MatMulPairs is [MatMul] of BF16 weights, w.Data, with an even number of columns
// and with activation rows in [FormBF16], contiguous and aligned to 4 bytes. It
// runs at twice the rate.
//
// It is the instruction VDPBF16PS: for each 512 columns a chain of fused
// multiply-adds from zero, columns 1, 0, 3, 2 and so on; these sums are added, from
// zero, in order. Operands and sums of a chain below the normal range count as
// zero.
func MatMulPairs(dst []float32, dstStride int, w *Matrix, lo, hi int, x []byte, rows int) {
	if rows <= 0 || lo >= hi {
		return
	}
	if w.DType != tensor.BF16 || w.Cols%2 != 0 {
		panic("kernel: a product of pairs wants BF16 weights with an even number of columns")
	}
	_ = dst[(rows-1)*dstStride+hi-1]
	x, _ = x[:rows*FormBF16.RowBytes(w.Cols)], w.Data[:hi*w.rowBytes()]
	matMulPairs(dst, dstStride, w, lo, hi, x, rows)
}

func matMulPairsGeneric(dst []float32, dstStride int, w *Matrix, lo, hi int, x []byte, rows int) {
	var chunk [pairChain]float32
	size := w.rowBytes()
	for j := lo; j < hi; j++ {
		for r := range rows {
			dst[r*dstStride+j] = 0
		}
		for c := 0; c < w.Cols; c += pairChain {
			ws := chunk[:min(pairChain, w.Cols-c)]
			loadCols(ws, tensor.BF16, w.Data[j*size:(j+1)*size], c)
			for r := range rows {
				sum := float32(0)
				row := x[r*size+2*c:]
				for i := range ws {
					k := i ^ 1
					v := tensor.BF16ToF32(binary.LittleEndian.Uint16(row[2*k:]))
					sum = flush(FMA(flush(ws[k]), flush(v), sum))
				}
				dst[r*dstStride+j] += sum
			}
		}
	}
}

// flush returns zero, of its sign, for a number below the normal range.
func flush(x float32) float32 {
	if b := math.Float32bits(x); b&0x7f800000 == 0 {
		return math.Float32frombits(b & (1 << 31))
	}
	return x
}

// storeBF16Generic rounds to nearest even.
func storeBF16Generic(dst []byte, src []float32) {
	dst = dst[:2*len(src)]
	for i, v := range src {
		binary.LittleEndian.PutUint16(dst[2*i:], tensor.F32ToBF16(v))
	}
}
