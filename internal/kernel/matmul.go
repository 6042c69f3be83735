package kernel

import (
	"unsafe"

	"atenia/tensor"
)

const (
	// tileRows is how many activation rows share one reading of float weights:
	// their partial sums for four weight rows (256 bytes a row) stay in L1, and
	// 5632 columns of them in L2.
	tileRows = 48
	// directRows is up to how many activation rows read plain weights that are
	// widened anew for each four of them.
	directRows = 8
	// panelCols columns of four weight rows are dequantised at a time.
	panelCols = 1024
)

// MatMul multiplies weights of any supported type, dequantised on the fly,
// with float32 activations:
//
//	dst[r*dstStride+j] = Σ_c w[j,c]·x[r*xStride+c], j in [lo, hi), r in [0, rows)
//
// Other values of dst are left alone. dst must not overlap x.
func MatMul(dst []float32, dstStride int, w *Matrix, lo, hi int, x []float32, xStride, rows int) {
	if rows <= 0 || lo >= hi {
		return
	}
	_ = dst[(rows-1)*dstStride+hi-1]
	_ = x[:(rows-1)*xStride+w.Cols]
	_ = w.Data[:hi*w.rowBytes()]
	for r := 0; r < rows; r += tileRows {
		n := min(tileRows, rows-r)
		if n > directRows && w.DType != tensor.F32 || w.DType.Quantised() || w.DType == tensor.F64 {
			matMulUnpacked(dst[r*dstStride:], dstStride, w, lo, hi, x[r*xStride:], xStride, n)
		} else {
			matMulPlain(dst[r*dstStride:], dstStride, w, lo, hi, x[r*xStride:], xStride, n)
		}
	}
}

// rows4 returns the bytes of rows j to j+3, the last repeated past hi.
func (w *Matrix) rows4(j, hi int) (rows [4][]byte) {
	size := w.rowBytes()
	for i := range rows {
		k := min(j+i, hi-1)
		rows[i] = w.Data[k*size : (k+1)*size]
	}
	return rows
}

func matMulPlain(dst []float32, dstStride int, w *Matrix, lo, hi int, x []float32, xStride, rows int) {
	var sums [tileRows]tile
	acc, cols := sums[:rows], w.Cols
	if rows > 4 {
		cols = panelCols // so that weights stay in L1 for all rows
	}
	_, size := w.DType.Block()
	for j := lo; j < hi; j += 4 {
		clear(acc)
		ws := w.rows4(j, hi)
		for c := 0; c < w.Cols; c += cols {
			n := min(cols, w.Cols-c)
			chunk := [4][]byte{ws[0][c*size:], ws[1][c*size:], ws[2][c*size:], ws[3][c*size:]}
			tileFloat(acc, w.DType, &chunk, x[c:], xStride, n)
		}
		fold(acc, dst[j:], dstStride, min(4, hi-j), 1)
	}
}

// matMulUnpacked dequantises four rows of panelCols columns at a time.
func matMulUnpacked(dst []float32, dstStride int, w *Matrix, lo, hi int, x []float32, xStride, rows int) {
	var (
		sums  [tileRows]tile
		cells [4*panelCols + 16]float32
	)
	acc := sums[:rows]
	panel := cells[-int(uintptr(unsafe.Pointer(&cells[0]))/4)&15:] // loads that cross cache lines count twice
	for j := lo; j < hi; j += 4 {
		clear(acc)
		ws := w.rows4(j, hi)
		for c := 0; c < w.Cols; c += panelCols {
			n := min(panelCols, w.Cols-c)
			var chunk [4][]byte
			for i := range min(4, hi-j) {
				loadCols(panel[i*panelCols:][:n], w.DType, ws[i], c)
			}
			for i := range chunk {
				chunk[i] = bytesOf(panel[i*panelCols:][:n])
			}
			tileFloat(acc, tensor.F32, &chunk, x[c:], xStride, n)
		}
		fold(acc, dst[j:], dstStride, min(4, hi-j), 1)
	}
}

// MatMulQ is [MatMul] with activation rows in FormOf(w.DType), contiguous,
// RowBytes(w.Cols) apart, aligned to 4 bytes. It reads w.Tiles if there are any;
// the bits of the results are the same.
func MatMulQ(dst []float32, dstStride int, w *Matrix, lo, hi int, x []byte, rows int) {
	if rows <= 0 || lo >= hi {
		return
	}
	form := FormOf(w.DType)
	x = x[:rows*form.RowBytes(w.Cols)]
	if form == FormF32 {
		MatMul(dst, dstStride, w, lo, hi, floats(x), w.Cols, rows)
		return
	}
	_ = dst[(rows-1)*dstStride+hi-1]
	if w.Tiles != nil {
		_ = w.Tiles[:PackedBytes(w.DType, w.Rows, w.Cols)]
		matMulTiles(dst, dstStride, w, lo, hi, xRows{x, w.Cols}, rows)
		return
	}
	_ = w.Data[:hi*w.rowBytes()]
	matMulInt(dst, dstStride, w, lo, hi, xRows{x, w.Cols}, rows)
}
