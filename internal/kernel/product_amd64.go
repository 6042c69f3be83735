//go:build !noasm

package kernel

import (
	"unsafe"

	"atenia/tensor"
)

const (
	// fusedRows is up to how many activation rows go through a fused product.
	fusedRows = 6
	// fusedOutputs is how many weight rows one call of assembly reads: few
	// enough that they are still in L2 for the next activation row, and that a
	// collection of garbage, which assembly keeps waiting, does not wait long.
	fusedOutputs = 32
	// panelRows weight rows are unpacked at a time; a vector of AVX-512 holds
	// a column of them.
	panelRows = 16
	// panelTile is how many activation rows one call of assembly multiplies.
	panelTile = 12
)

// A panel is 16 weight rows of one chunk, the rows side by side: for every 16
// columns of each of the 8 blocks, 4 times 4 columns of all rows. AVX-512
// stores weights plus 128.
type panel struct {
	q [16][chunkBlocks][4][panelRows][4]uint8
	f [2][16][chunkBlocks][panelRows]float32 // scales, minima
}

// matMulInt multiplies few activation rows with weights unpacked in registers,
// which memory limits, and many with panels.
func matMulInt(dst []float32, dstStride int, w *Matrix, lo, hi int, x xRows, rows int) {
	switch {
	case level.Load() == 0:
		matMulIntGeneric(dst, dstStride, w, lo, hi, x, rows)
	case rows <= fusedRows && w.Cols >= blockCols && hasFused(w.DType):
		for r := range rows {
			clear(dst[r*dstStride+lo : r*dstStride+hi])
		}
		for j := lo; j < hi; j += fusedOutputs {
			for r := 0; r < rows; {
				r += matVec(dst[r*dstStride:], dstStride, w, j, min(j+fusedOutputs, hi), &x.blocks(r)[0], rows-r)
			}
		}
	default:
		matMulPanels(dst, dstStride, w, lo, hi, x, rows)
	}
}

func matMulPanels(dst []float32, dstStride int, w *Matrix, lo, hi int, x xRows, rows int) {
	var (
		memory [unsafe.Sizeof(panel{}) + 64]byte
		part   [panelRows]wBlock
		sums   [16][panelTile][panelRows]float32
	)
	p := (*panel)(unsafe.Pointer(&memory[-int(uintptr(unsafe.Pointer(&memory[0])))&63])) // whole cache lines
	size, stride, xStride := w.rowBytes(), blocks(w.Cols), FormQ8.RowBytes(w.Cols)
	mins := 0
	if hasMins(w.DType) {
		mins = 1
	}
	for j := lo; j < hi; j += panelRows {
		n := min(panelRows, hi-j)
		for r := range rows {
			clear(dst[r*dstStride+j:][:n])
		}
		for b := 0; b < stride; b += chunkBlocks {
			k := min(chunkBlocks, stride-b)
			for s := range k {
				c := (b + s) * blockCols
				for i := range n {
					unpack(&part[i], w.DType, w.Data[(j+i)*size:(j+i+1)*size], c, min(blockCols, w.Cols-c))
				}
				interleave(p, s, &part, mins)
			}
			for r := 0; r < rows; {
				t := panelRowsOf(rows - r)
				if n == panelRows {
					panelDot(&dst[r*dstStride+j], 4*dstStride, p, &x.blocks(r)[b], xStride, k, mins, &sums, w.DType, t)
				} else {
					var out [panelTile][panelRows]float32
					panelDot(&out[0][0], 4*panelRows, p, &x.blocks(r)[b], xStride, k, mins, &sums, w.DType, t)
					for i := range t {
						for o, v := range out[i][:n] {
							dst[(r+i)*dstStride+j+o] += v
						}
					}
				}
				r += t
			}
		}
	}
}

func interleave(p *panel, s int, part *[panelRows]wBlock, mins int) {
	q, f, in := &p.q[0][s][0][0][0], &p.f[0][0][s][0], &part[0].q[0]
	if level.Load() == levelAVX512 {
		interleaveAVX512(q, f, in, mins)
	} else {
		interleaveAVX2(q, f, in, mins)
	}
}

// panelRowsOf returns how many of the remaining activation rows go next.
func panelRowsOf(rows int) int {
	switch {
	case rows >= panelTile && level.Load() == levelAVX512:
		return panelTile
	case rows >= 4:
		return 4
	}
	return 1
}

// panelDot adds the products of blocks of a panel with some activation rows,
// xs bytes apart, to dst, whose rows are dstStride bytes apart.
func panelDot(dst *float32, dstStride int, p *panel, x *xBlock, xs, blocks, mins int, sums *[16][panelTile][panelRows]float32, d tensor.DType, rows int) {
	q, xq, a := &p.q[0][0][0][0][0], &x.q[0], &sums[0][0][0]
	if per16(d) {
		panelDot16(dst, dstStride, q, xq, xs, blocks, mins, a, rows)
	} else {
		panelDot32(dst, dstStride, q, xq, xs, blocks, mins, a, rows)
	}
}

func panelDot32(dst *float32, dstStride int, q *uint8, x *int8, xs, blocks, mins int, a *float32, rows int) {
	wide := level.Load() == levelAVX512
	switch {
	case rows == panelTile:
		panel32x12AVX512(dst, dstStride, q, x, xs, blocks, mins, a)
	case rows == 4 && wide:
		panel32x4AVX512(dst, dstStride, q, x, xs, blocks, mins, a)
	case wide:
		panel32x1AVX512(dst, dstStride, q, x, xs, blocks, mins, a)
	case rows == 4:
		panel32x4AVX2(dst, dstStride, q, x, xs, blocks, mins, a)
	default:
		panel32x1AVX2(dst, dstStride, q, x, xs, blocks, mins, a)
	}
}

func panelDot16(dst *float32, dstStride int, q *uint8, x *int8, xs, blocks, mins int, a *float32, rows int) {
	wide := level.Load() == levelAVX512
	switch {
	case rows == panelTile:
		panel16x12AVX512(dst, dstStride, q, x, xs, blocks, mins, a)
	case rows == 4 && wide:
		panel16x4AVX512(dst, dstStride, q, x, xs, blocks, mins, a)
	case wide:
		panel16x1AVX512(dst, dstStride, q, x, xs, blocks, mins, a)
	case rows == 4:
		panel16x4AVX2(dst, dstStride, q, x, xs, blocks, mins, a)
	default:
		panel16x1AVX2(dst, dstStride, q, x, xs, blocks, mins, a)
	}
}

// hasFused reports whether matVec knows the type.
func hasFused(d tensor.DType) bool {
	return d.Quantised() && d != tensor.Q8_K && level.Load() > 0
}

// matVec adds to dst the products of rows [lo, hi) with as many of the prepared
// activation rows as registers hold, and returns how many. Assembly reads
// blocks of 256 columns whole, so where rows end within one, it takes the last
// row's end from a copy.
func matVec(dst []float32, dstStride int, w *Matrix, lo, hi int, x *xBlock, rows int) int {
	var tail [blockCols / 32 * 36]byte
	size := w.rowBytes()
	if c := w.Cols &^ (blockCols - 1); c < w.Cols {
		copy(tail[:], w.Data[(hi-1)*size+typeRowBytes(w.DType, c):hi*size])
	}
	out, in, last := &dst[lo], &w.Data[lo*size], &tail[0]
	xs, xStride, n := &x.q[0], FormQ8.RowBytes(w.Cols), hi-lo
	k := 1
	if rows >= 4 && level.Load() == levelAVX512 {
		k = 4
	}
	if level.Load() == levelAVX512 {
		vecAVX512(w.DType, k, out, 4*dstStride, in, n, xs, xStride, w.Cols, size, last)
	} else {
		vecAVX2(w.DType, k, out, 4*dstStride, in, n, xs, xStride, w.Cols, size, last)
	}
	return k
}
