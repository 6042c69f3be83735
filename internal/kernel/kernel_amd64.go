//go:build !noasm

package kernel

import (
	"unsafe"

	"atenia/internal/machine/cpu"

	"atenia/tensor"
)

//go:generate go run -C ../../tools ./asm -family float -out ../internal/kernel/zfloat_amd64.s -stubs ../internal/kernel/zfloat_amd64.go -pkg kernel
//go:generate go run -C ../../tools ./asm -family int -out ../internal/kernel/zint_amd64.s -stubs ../internal/kernel/zint_amd64.go -pkg kernel
//go:generate go run -C ../../tools ./asm -dispatch ../internal/kernel/zchoice_amd64.go
//go:generate go run -C ../../tools ./asm -family packed -out ../internal/kernel/zpacked_amd64.s -stubs ../internal/kernel/zpacked_amd64.go -pkg kernel
//go:generate go run -C ../../tools ./asm -family attention -out ../internal/kernel/zattention_amd64.s -stubs ../internal/kernel/zattention_amd64.go -pkg kernel
//go:generate go run -C ../../tools ./asm -family vector -out ../internal/kernel/zvector_amd64.s -stubs ../internal/kernel/zvector_amd64.go -pkg kernel

// Each function here passes whole vectors to assembly and the rest to its
// portable twin.

// The levels above 0, which is the portable one.
const (
	levelAVX2   = 1
	levelAVX512 = 2
)

var variants = available()

func available() []string {
	v := []string{"portable"}
	if cpu.HasAVX2() {
		v = append(v, "avx2")
		if cpu.HasAVX512() {
			v = append(v, "avx512")
		}
	}
	return v
}

// VectorLanes returns how many float32 values a register of the variant in use holds:
// 16, 8, or 0 for the portable one. It serves the assembly of other packages.
func VectorLanes() int { return 8 * int(level.Load()) }

// whole returns how many of n values, in groups of k, a power of two, go to
// assembly.
func whole(n, k int) int {
	if level.Load() == 0 {
		return 0
	}
	return n &^ (k - 1)
}

func quantize(dst *xBlock, cells []xCell, stride int, src *[256]float32) {
	if level.Load() == 0 {
		quantizeGeneric(dst, cells, stride, src)
		return
	}
	quantizeAVX2((*byte)(unsafe.Pointer(dst)), (*byte)(unsafe.Pointer(&cells[0])), stride*xCellBytes, &src[0])
}

func unpack(dst *UnpackedBlock, d tensor.DType, row []byte, c, n int) {
	if n == blockCols && hasFused(d) {
		values, bytes := d.Block()
		src := row[c/values*bytes:]
		out, in := (*byte)(unsafe.Pointer(dst)), &src[:blockCols/values*bytes][0]
		unpackAVX2(d, out, in)
		return
	}
	unpackBlock(dst, d, row, c, n)
}

func expand(dst []float32, w *UnpackedBlock) {
	if n := whole(len(dst), 16); n == len(dst) && n > 0 {
		expandAVX2(&dst[0], (*byte)(unsafe.Pointer(w)), n/16)
		return
	}
	expandGeneric(dst, w)
}

func sumLanes(a *lanes64, x []float32) {
	n := whole(len(x), 16)
	if n > 0 {
		sumLanesAVX2(&a[0], &x[0], n)
	}
	sumLanesGeneric(a, x[n:])
}

func sumSquaresLanes(a *lanes64, x []float32, mean float64) {
	n := whole(len(x), 16)
	if n > 0 {
		sumSquaresLanesAVX2(&a[0], &x[0], n, mean)
	}
	sumSquaresLanesGeneric(a, x[n:], mean)
}

func normalize(dst, src, weight, bias []float32, mean, inv, offset float32) {
	n := whole(len(src), 8)
	if n > 0 {
		_ = dst[n-1]
		if weight != nil {
			_ = weight[n-1]
		}
		if bias != nil {
			_ = bias[n-1]
		}
		normalizeAVX2(&dst[0], &src[0], unsafe.SliceData(weight), unsafe.SliceData(bias), n, mean, inv, offset)
		if weight != nil {
			weight = weight[n:]
		}
		if bias != nil {
			bias = bias[n:]
		}
	}
	normalizeGeneric(dst[n:], src[n:], weight, bias, mean, inv, offset)
}

func addScaled(dst, a, b []float32, scale float32) {
	n := whole(len(dst), 8)
	if n > 0 {
		addScaledAVX2(&dst[0], &a[0], &b[0], n, scale)
	}
	addScaledGeneric(dst[n:], a[n:], b[n:], scale)
}

func mul(dst, a, b []float32) {
	n := whole(len(dst), 8)
	if n > 0 {
		mulAVX2(&dst[0], &a[0], &b[0], n)
	}
	mulGeneric(dst[n:], a[n:], b[n:])
}

func scaleBy(dst []float32, s float32) {
	n := whole(len(dst), 8)
	if n > 0 {
		scaleByAVX2(&dst[0], n, s)
	}
	scaleByGeneric(dst[n:], s)
}

func ropeHalves(a, b, cos, sin []float32) {
	n := whole(len(cos), 8)
	if n > 0 {
		ropeHalvesAVX2(&a[0], &b[0], &cos[0], &sin[0], n)
	}
	ropeHalvesGeneric(a[n:], b[n:], cos[n:], sin[n:])
}

func ropeInterleaved(x, cos, sin []float32) {
	n := whole(len(cos), 4)
	if n > 0 {
		ropeInterleavedAVX2(&x[0], &cos[0], &sin[0], n)
	}
	ropeInterleavedGeneric(x[2*n:], cos[n:], sin[n:])
}

func apply(op unary, dst, src []float32) {
	dst = dst[:len(src)]
	if n := whole(len(src), 16); n > 0 && level.Load() == levelAVX512 {
		d, s := &dst[0], &src[0]
		switch op {
		case opExp:
			expAVX512(d, s, n)
		case opSigmoid:
			sigmoidAVX512(d, s, n)
		case opTanh:
			tanhAVX512(d, s, n)
		case opSiLU:
			siluAVX512(d, s, n)
		case opGELUTanh:
			geluTanhAVX512(d, s, n)
		case opGELUErf:
			geluErfAVX512(d, s, n)
		case opReLU:
			reluAVX512(d, s, n)
		case opReLU2:
			relu2AVX512(d, s, n)
		}
		dst, src = dst[n:], src[n:]
	}
	n := whole(len(src), 8)
	if n > 0 {
		d, s := &dst[0], &src[0]
		switch op {
		case opExp:
			expAVX2(d, s, n)
		case opSigmoid:
			sigmoidAVX2(d, s, n)
		case opTanh:
			tanhAVX2(d, s, n)
		case opSiLU:
			siluAVX2(d, s, n)
		case opGELUTanh:
			geluTanhAVX2(d, s, n)
		case opGELUErf:
			geluErfAVX2(d, s, n)
		case opReLU:
			reluAVX2(d, s, n)
		case opReLU2:
			relu2AVX2(d, s, n)
		}
	}
	applyGeneric(op, dst[n:], src[n:])
}

func maxOf(x []float32) float32 {
	switch n := whole(len(x), 16); {
	case n == 0:
		return maxGeneric(x)
	case level.Load() == levelAVX512:
		return max(maxAVX512(&x[0], n), maxGeneric(x[n:]))
	default:
		return max(maxAVX2(&x[0], n), maxGeneric(x[n:]))
	}
}

func expSum(a *lanes, x []float32, top float32) {
	n := whole(len(x), 16)
	if n > 0 && level.Load() == levelAVX512 {
		expSumAVX512(&a[0], &x[0], n, top)
	} else if n > 0 {
		expSumAVX2(&a[0], &x[0], n, top)
	}
	expSumGeneric(a, x[n:], top)
}

func loadF16(dst []float32, src []byte) {
	n := whole(len(dst), 16)
	switch {
	case n == 0:
	case level.Load() == levelAVX512:
		loadF16AVX512(&dst[0], &src[:2*n][0], n)
	default:
		loadF16AVX2(&dst[0], &src[:2*n][0], n)
	}
	loadF16Generic(dst[n:], src[2*n:])
}

func loadBF16(dst []float32, src []byte) {
	n := whole(len(dst), 16)
	switch {
	case n == 0:
	case level.Load() == levelAVX512:
		loadBF16AVX512(&dst[0], &src[:2*n][0], n)
	default:
		loadBF16AVX2(&dst[0], &src[:2*n][0], n)
	}
	loadBF16Generic(dst[n:], src[2*n:])
}

func loadQ8(dst []float32, src []byte) {
	if n := whole(len(dst), 32); n > 0 {
		loadQ80AVX2(&dst[0], &src[:n/32*34][0], n/32)
		return
	}
	loadQ8Generic(dst, src)
}

func storeF16(dst []byte, src []float32) {
	n := whole(len(src), 8)
	if n > 0 {
		storeF16AVX2(&dst[:2*n][0], &src[0], n)
	}
	storeF16Generic(dst[2*n:], src[n:])
}

func readAll(b []byte) {
	n := whole(len(b), 256)
	if n > 0 {
		readAVX2(&b[0], n)
	}
	readAllGeneric(b[n:])
}

func fmaLoop(steps int) float64 {
	switch level.Load() {
	case 0:
		return fmaLoopGeneric(steps)
	case levelAVX2:
		fmaAVX2(steps)
		return float64(steps) * 12 * 16
	}
	fmaAVX512(steps)
	return float64(steps) * 12 * 32
}

func dotLoop(steps int) float64 {
	switch level.Load() {
	case 0:
		return dotLoopGeneric(steps)
	case levelAVX2:
		dotAVX2(steps)
		return float64(steps) * 6 * 64
	}
	dotAVX512(steps)
	return float64(steps) * 12 * 128
}
