//go:build !noasm

package kernel

import (
	"math"
	"unsafe"

	"atenia/internal/machine/cpu"

	"atenia/tensor"
)

// Each function here, or beside the declarations in z files, passes whole
// vectors to assembly and the rest to its portable twin.

// The levels above 0, which is the portable one.
const (
	levelNEON = 1
	levelDot  = 2
)

var variants = available()

func available() []string {
	v := []string{"portable", "neon"}
	if cpu.HasDotProd() {
		v = append(v, "dotprod")
	}
	return v
}

// whole returns how many of n values, in groups of k, a power of two, go to
// assembly.
func whole(n, k int) int {
	if level.Load() == 0 {
		return 0
	}
	return n &^ (k - 1)
}

func (w *Matrix) packColumns(dst []byte, j, c, n int) { w.packColumnsGeneric(dst, j, c, n) }

func quantize(dst *xBlock, cells []xCell, stride int, src *[256]float32) {
	if level.Load() == 0 {
		quantizeGeneric(dst, cells, stride, src)
		return
	}
	quantizeNEON((*byte)(unsafe.Pointer(dst)), (*byte)(unsafe.Pointer(&cells[0])), stride*xCellBytes, &src[0])
}

func unpack(dst *UnpackedBlock, d tensor.DType, row []byte, c, n int) {
	unpackBlock(dst, d, row, c, n)
}

func expand(dst []float32, w *UnpackedBlock) {
	if n := whole(len(dst), 16); n == len(dst) && n > 0 {
		expandNEON(&dst[0], (*byte)(unsafe.Pointer(w)), n/16)
		return
	}
	expandGeneric(dst, w)
}

func normalize(dst, src, weight, bias []float32, mean, inv, offset float32) {
	n := whole(len(src), 4)
	if n > 0 {
		normalizeNEON(&dst[:n][0], &src[0], unsafe.SliceData(weight), unsafe.SliceData(bias), n, mean, inv, offset)
		if weight != nil {
			weight = weight[n:]
		}
		if bias != nil {
			bias = bias[n:]
		}
	}
	normalizeGeneric(dst[n:], src[n:], weight, bias, mean, inv, offset)
}

func maxOf(x []float32) float32 {
	n := whole(len(x), 4)
	if n == 0 {
		return maxGeneric(x)
	}
	low := float32(math.Inf(-1))
	tops := [4]float32{low, low, low, low}
	maxNEON(&x[0], n, &tops)
	return max(maxGeneric(tops[:]), maxGeneric(x[n:]))
}

func loadQ8(dst []float32, src []byte) {
	if n := whole(len(dst), 32); n > 0 {
		loadQ80NEON(&dst[0], &src[:n/32*34][0], n/32)
		return
	}
	loadQ8Generic(dst, src)
}

func fmaLoop(steps int) float64 {
	if level.Load() == 0 {
		return fmaLoopGeneric(steps)
	}
	fmaNEON(steps)
	return float64(steps) * 12 * 8
}

func dotLoop(steps int) float64 {
	switch level.Load() {
	case 0:
		return dotLoopGeneric(steps)
	case levelNEON:
		pairsNEON(steps)
		return float64(steps) * 12 * 16
	}
	dotDot(steps)
	return float64(steps) * 12 * 32
}
