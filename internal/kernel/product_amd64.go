//go:build !noasm

package kernel

import (
	"atenia/internal/kernel/block"
	"atenia/tensor"
)

const (
	// fusedRows is up to how many activation rows go through a fused product.
	fusedRows = 6
	// fusedOutputs is how many weight rows one call of assembly reads: few
	// enough that they are still in L2 for the next activation row, and that a
	// collection of garbage, which assembly keeps waiting, does not wait long.
	fusedOutputs = 32
)

// matMulInt multiplies weights as the file has them: few activation rows with
// weights unpacked in registers, many with tiles packed for the purpose.
func matMulInt(dst []float32, dstStride int, w *Matrix, lo, hi int, x xRows, rows int) {
	switch {
	case !hasFused(w.DType):
		matMulIntGeneric(dst, dstStride, w, lo, hi, x, rows)
	case rows <= fusedRows && w.Cols >= blockCols:
		for r := range rows {
			clear(dst[r*dstStride+lo : r*dstStride+hi])
		}
		for j := lo; j < hi; j += fusedOutputs {
			for r := range rows {
				matVec(dst[r*dstStride:], w, j, min(j+fusedOutputs, hi), &x.blocks(r)[0])
			}
		}
	default:
		m := takePanels()
		size, step := w.rowBytes(), block.PackingOf(w.DType).TileBytes(w.Cols)
		tiles := min(panelTiles, max(1, tileCall/step))
		if n := tiles*step + 64; len(m.packed) < n {
			m.packed = make([]byte, n)
		}
		for j := lo; j < hi; j += tiles * TileRows {
			n := min(tiles*TileRows, hi-j)
			v := Matrix{DType: w.DType, Rows: n, Cols: w.Cols, Data: w.Data[j*size : (j+n)*size], Tiles: aligned64(m.packed)}
			v.Pack(v.Tiles, 0, n)
			matMulTiles(dst[j:], dstStride, &v, 0, n, x, rows)
		}
		leavePanels(m)
	}
}

// hasFused reports whether matVec knows the type.
func hasFused(d tensor.DType) bool {
	return d.Quantised() && d != tensor.Q8_K && level.Load() > 0
}

// matVec adds to dst the products of rows [lo, hi) with a prepared activation
// row. Assembly reads blocks of 256 columns whole, so where rows end within
// one, it takes the last row's end from a copy.
func matVec(dst []float32, w *Matrix, lo, hi int, x *xBlock) {
	var tail [blockCols / 32 * 36]byte
	size := w.rowBytes()
	if c := w.Cols &^ (blockCols - 1); c < w.Cols {
		copy(tail[:], w.Data[(hi-1)*size+typeRowBytes(w.DType, c):hi*size])
	}
	out, in := &dst[lo:hi][0], &w.Data[lo*size]
	if level.Load() == levelAVX512 {
		vecAVX512(w.DType, out, in, hi-lo, &x.q[0], w.Cols, size, &tail[0])
	} else {
		vecAVX2(w.DType, out, in, hi-lo, &x.q[0], w.Cols, size, &tail[0])
	}
}
