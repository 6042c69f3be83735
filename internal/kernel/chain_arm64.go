//go:build !noasm

package kernel

import (
	"unsafe"

	"atenia/tensor"
)

// A source is the layout from which assembly loads 16 values for chains of fused
// multiply-adds: columns of packed weights, columns of a tile of keys, or 16
// columns of a value.
type source uint8

const (
	sourceF32 source = iota
	sourceF16
	sourceBF16
	sourceQ80
	sourceQ80Keys // blocks of 32 columns, preceded by their scales
)

func sourceOf(d tensor.DType) source {
	switch d {
	case tensor.F16:
		return sourceF16
	case tensor.BF16:
		return sourceBF16
	case tensor.Q8_0:
		return sourceQ80
	}
	return sourceF32
}

// chainRows returns how many of the remaining rows assembly processes at once.
func chainRows(rows int) int {
	if rows >= 4 {
		return 4
	}
	return min(rows, 2)
}

// matMulFloats multiplies 256 columns of a tile at a time, packed already or
// dequantized and packed into a buffer.
func matMulFloats(dst []float32, dstStride int, w *Matrix, lo, hi int, x []float32, xStride, rows int) {
	if level.Load() == 0 {
		matMulFloatsGeneric(dst, dstStride, w, lo, hi, x, xStride, rows)
		return
	}
	var panel [chainCols * TileRows]float32
	size := elementSize(w.DType)
	packed := size > 0 && w.Tiles != nil
	for r := 0; r < rows; r += passRows {
		some, xs, out := min(passRows, rows-r), x[r*xStride:], dst[r*dstStride:]
		eachTile(lo, hi, func(j, n int) {
			clearRows(out[j:], dstStride, n, some)
			for c := 0; c < w.Cols; c += chainCols {
				cols := min(chainCols, w.Cols-c)
				if packed {
					tile := w.Tiles[j/TileRows*w.tileBytes()+c*TileRows*size:]
					addChains(out[j:], dstStride, j%TileRows, n, sourceOf(w.DType), &tile[0], TileRows*size, xs[c:], xStride, cols, some)
					continue
				}
				w.spread(&panel, j, n, c, cols)
				addChains(out[j:], dstStride, j%TileRows, n, sourceF32, &bytesOf(panel[:])[0], TileRows*4, xs[c:], xStride, cols, some)
			}
		})
	}
}

// spread interleaves columns from c of n rows from j, as in a tile.
func (w *Matrix) spread(panel *[chainCols * TileRows]float32, j, n, c, cols int) {
	var row [chainCols]float32
	for i := range n {
		w.loadChunk(row[:cols], j+i, c)
		out := panel[(j+i)%TileRows:]
		for k, v := range row[:cols] {
			out[k*TileRows] = v
		}
	}
}

// addChains adds the first n of 16 sums over columns, starting at first, to dst.
func addChains(dst []float32, dstStride, first, n int, s source, w *byte, step int, x []float32, xStride, cols, rows int) {
	for r := 0; r < rows; {
		var out [4 * TileRows]float32
		k := chainRows(rows - r)
		chainsNEON(s, k, &out[0], 4*TileRows, w, nil, step, &x[r*xStride], 4*xStride, cols)
		for i := range k {
			for o, v := range out[i*TileRows+first:][:n] {
				dst[(r+i)*dstStride+o] += v
			}
		}
		r += k
	}
}

// scoreTiles passes whole tiles to assembly.
func scoreTiles(dst, q []float32, n int, k *Rows, lo, hi int, scale float32) {
	if level.Load() == 0 || k.width() != tileKeys {
		scoresGeneric(dst, q, n, k, lo, hi, scale)
		return
	}
	s, step := sourceOf(k.DType), tileKeys*elementSize(k.DType)
	if s == sourceQ80 {
		s = sourceQ80Keys
	}
	for j := lo &^ (tileKeys - 1); j < hi; j += tileKeys {
		tile := k.rows(j, tileKeys)
		for i := 0; i < n; {
			m := chainRows(n - i)
			at := i*AttentionSpan + j%AttentionSpan
			for r := range m {
				clear(dst[at+r*AttentionSpan:][:tileKeys])
			}
			chainsNEON(s, m, &dst[at], 4*AttentionSpan, &tile[0], nil, step, &q[i*k.Dim], 4*k.Dim, k.Dim)
			for r := range m {
				scaleBy(dst[at+r*AttentionSpan:][:tileKeys], scale)
			}
			i += m
		}
	}
}

// weightedTiles passes 16 columns of the rows of a page at a time to assembly.
func weightedTiles(dst, p []float32, n int, v *Rows, lo, hi int) {
	c := whole(v.Dim, 16)
	if c < v.Dim {
		weightedGeneric(dst, p, n, v, lo, hi, c)
	}
	s, size := sourceOf(v.DType), typeRowBytes(v.DType, v.Dim)
	for j := lo; c > 0 && j < hi; {
		rows := min(hi-j, v.PageRows-j%v.PageRows)
		page := v.rows(j, rows)
		for at := 0; at < c; at += 16 {
			w, scales := page, page
			if s == sourceQ80 {
				scales = page[at/32*34:]
				w = scales[2+at%32:]
			} else {
				w = page[at*elementSize(v.DType):]
			}
			for i := 0; i < n; {
				m := chainRows(n - i)
				chainsNEON(s, m, &dst[i*v.Dim+at], 4*v.Dim, unsafe.SliceData(w), unsafe.SliceData(scales), size,
					&p[i*AttentionSpan+j%AttentionSpan], 4*AttentionSpan, rows)
				i += m
			}
		}
		j += rows
	}
}
