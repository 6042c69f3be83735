package kernel

import (
	"atenia/tensor"
)

// chainCols is the number of columns in one chain of fused multiply-adds of a
// float product. Short chains bound the error, and 256 columns of some tiles
// stay in L1.
const chainCols = 256

// matMulFloatsGeneric defines products with float32 activations: for each 256
// columns a chain of fused multiply-adds from zero, columns ascending; these
// sums are added, from zero, in order.
func matMulFloatsGeneric(dst []float32, dstStride int, w *Matrix, lo, hi int, x []float32, xStride, rows int) {
	var chunk [chainCols]float32
	for j := lo; j < hi; j++ {
		for r := range rows {
			dst[r*dstStride+j] = 0
		}
		for c := 0; c < w.Cols; c += chainCols {
			ws := chunk[:min(chainCols, w.Cols-c)]
			w.loadChunk(ws, j, c)
			for r := range rows {
				sum := float32(0)
				for i, v := range x[r*xStride+c:][:len(ws)] {
					sum = FMA(ws[i], v, sum)
				}
				dst[r*dstStride+j] += sum
			}
		}
	}
}

// loadChunk dequantizes the columns from c, a multiple of 256, of row j, from
// the tiles if floats are packed.
func (w *Matrix) loadChunk(dst []float32, j, c int) {
	size := elementSize(w.DType)
	if size == 0 || w.Tiles == nil {
		loadCols(dst, w.DType, w.Data[j*w.rowBytes():(j+1)*w.rowBytes()], c)
		return
	}
	tile := w.Tiles[j/TileRows*w.tileBytes():][:w.tileBytes()]
	var one [4]byte
	for i := range dst {
		copy(one[:size], tile[((c+i)*TileRows+j%TileRows)*size:])
		loadCols(dst[i:i+1], w.DType, one[:size], 0)
	}
}

// elementSize returns the bytes per element of float types that have a packed
// form, 0 for other types.
func elementSize(d tensor.DType) int {
	switch d {
	case tensor.F32:
		return 4
	case tensor.F16, tensor.BF16:
		return 2
	}
	return 0
}

// tileBytes returns the size of a packed tile of floats.
func (w *Matrix) tileBytes() int { return TileRows * w.Cols * elementSize(w.DType) }

// packFloats packs rows [lo, hi), lo a multiple of 16: for each column the
// elements of 16 rows.
func (w *Matrix) packFloats(dst []byte, lo, hi int) {
	tile := w.tileBytes()
	for j := lo; j < hi; j += TileRows {
		w.packColumns(dst[j/TileRows*tile:][:tile], j, 0, w.Cols)
	}
}

// packColumnsGeneric packs n columns from c of the tile whose first row is j.
// Missing rows become zero.
func (w *Matrix) packColumnsGeneric(dst []byte, j, c, n int) {
	rows := min(TileRows, w.Rows-j)
	size := elementSize(w.DType)
	for i := range n {
		out := dst[i*TileRows*size:][:TileRows*size]
		clear(out[rows*size:])
		for r := range rows {
			copy(out[r*size:(r+1)*size], w.Data[((j+r)*w.Cols+c+i)*size:])
		}
	}
}
