//go:build !noasm

package kernel

import (
	"atenia/tensor"
)

const (
	// fusedOutputs is the number of weight rows that one call of assembly reads:
	// few enough that they are still in L2 for the next activation row and that a
	// garbage collection, which must wait for assembly, does not wait long.
	fusedOutputs = 32
)

// matMulInt multiplies weights in the layout of the file: for few activation
// rows with weights unpacked in registers, for many with temporary tiles.
func matMulInt(dst []float32, dstStride int, w *Matrix, lo, hi int, x xRows, rows int) {
	switch {
	case !hasFused(w.DType):
		matMulIntGeneric(dst, dstStride, w, lo, hi, x, rows)
	case rows <= fusedRows(w.DType) && w.Cols >= blockCols:
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
		size, step := w.rowBytes(), packingOf(w.DType).TileBytes(w.Cols)
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

// fusedRows is the number of activation rows up to which the fused product is faster than
// packing the weights first: measured, both take as long at 24 to 32 rows, and at 48 of the
// type that takes longest to pack.
func fusedRows(d tensor.DType) int {
	if d == tensor.Q6_K {
		return 40
	}
	return 20
}

// hasFused reports whether matVec supports the type.
func hasFused(d tensor.DType) bool {
	return d.Quantized() && d != tensor.Q8_K && level.Load() > 0
}

// matVec adds to dst the products of rows [lo, hi) with a prepared activation
// row. Assembly reads whole blocks of 256 columns, so if rows end within a
// block, the end of the last row is read from a copy.
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
