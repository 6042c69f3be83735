//go:build !noasm

package kernel

import "unsafe"

// tileArgs are the arguments of assembly's products of packed weights: dst +=
// tiles · x for 16 outputs a tile and some activation rows. Strides are bytes.
type tileArgs struct {
	dst       *float32
	dstStride int
	w         *byte
	step      int // from tile to tile
	tiles     int
	x         *xCell
	xStride   int
	cols      int
	sums      *float32 // [16][rows][16], what passes put away
	xBack     int      // bytes of all cells of a row
	_         [5]int   // for assembly
}

// tileCall is how many bytes of weights one call of assembly reads, which the
// collector of garbage must wait for.
const tileCall = 512 << 10

// tileRowsOf returns how many of the remaining activation rows go next.
func tileRowsOf(rows int) int {
	switch {
	case rows >= 8 && level.Load() == levelAVX512:
		return 8
	case rows >= 4:
		return 4
	case rows >= 2:
		return 2
	}
	return 1
}

// matMulTiles multiplies packed weights.
func matMulTiles(dst []float32, dstStride int, w *Matrix, lo, hi int, x xRows, rows int) {
	if level.Load() == 0 {
		matMulTilesGeneric(dst, dstStride, w, lo, hi, x, rows)
		return
	}
	for r := range rows {
		clear(dst[r*dstStride+lo : r*dstStride+hi])
	}
	step := packingOf(w.DType).tileBytes(w.Cols)
	for j := lo; j < hi; {
		whole := (hi - j) / TileRows
		if whole == 0 || j%TileRows != 0 { // some rows of a tile
			n := min(hi, (j/TileRows+1)*TileRows) - j
			matMulSome(dst, dstStride, w, j, n, step, x, rows)
			j += n
			continue
		}
		n := min(whole, max(1, tileCall/step))
		fusedTiles(dst[j:], dstStride, w, j/TileRows, n, step, x, rows)
		j += n * TileRows
	}
}

// matMulSome multiplies n rows from j, which are within one tile.
func matMulSome(dst []float32, dstStride int, w *Matrix, j, n, step int, x xRows, rows int) {
	for r := 0; r < rows; {
		var out [8 * TileRows]float32
		k := tileRowsOf(rows - r)
		fusedTiles(out[:], TileRows, w, j/TileRows, 1, step, x.from(r), k)
		for i := range k {
			copy(dst[(r+i)*dstStride+j:][:n], out[i*TileRows+j%TileRows:])
		}
		r += k
	}
}

// fusedTiles multiplies whole tiles, unpacked in registers, adding to dst.
func fusedTiles(dst []float32, dstStride int, w *Matrix, tile, tiles, step int, x xRows, rows int) {
	var sums [16 * 8 * TileRows]float32
	packed := w.Tiles[tile*step : (tile+tiles)*step]
	for r := 0; r < rows; {
		n := tileRowsOf(rows - r)
		a := tileArgs{
			dst: &dst[r*dstStride], dstStride: 4 * dstStride,
			w: &packed[0], step: step, tiles: tiles,
			x: &x.cells(r)[0], xStride: FormQ8.RowBytes(x.cols), cols: x.cols,
			sums: &sums[0], xBack: 8 * xCellBytes * blocks(x.cols),
		}
		_ = dst[(r+n-1)*dstStride+tiles*TileRows-1]
		if level.Load() == levelAVX512 {
			tilesAVX512(w.DType, n, (*byte)(unsafe.Pointer(&a)))
		} else {
			tilesAVX2(w.DType, n, (*byte)(unsafe.Pointer(&a)))
		}
		r += n
	}
}
