package kernel

// MatMul multiplies weights of any supported type, dequantized on the fly, with
// float32 activations:
//
//	dst[r*dstStride+j] = Σ_c w[j,c]·x[r*xStride+c], j in [lo, hi), r in [0, rows)
//
// It leaves other values of dst unchanged. dst must not overlap x.
func MatMul(dst []float32, dstStride int, w *Matrix, lo, hi int, x []float32, xStride, rows int) {
	if rows <= 0 || lo >= hi {
		return
	}
	_ = dst[(rows-1)*dstStride+hi-1]
	_ = x[:(rows-1)*xStride+w.Cols]
	if w.Tiles == nil || elementSize(w.DType) == 0 {
		_ = w.Data[:hi*w.rowBytes()]
	} else {
		_ = w.Tiles[:PackedBytes(w.DType, hi, w.Cols)]
	}
	matMulFloats(dst, dstStride, w, lo, hi, x, xStride, rows)
}

// MatMulQ is [MatMul] with activation rows in FormOf(w.DType), contiguous,
// RowBytes(w.Cols) apart, aligned to 4 bytes. It reads w.Tiles if set, which
// does not change a bit of the results.
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
