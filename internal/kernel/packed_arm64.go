//go:build !noasm

package kernel

import (
	"unsafe"

	"atenia/tensor"
)

const (
	// mostRows is the number of activation rows that one call of assembly
	// multiplies.
	mostRows = 8
	// passRows is the number of activation rows that stay in L2 while all tiles are
	// processed.
	passRows = 64
	// mostChunk is the size of the largest packed chunk, of Q8_0.
	mostChunk = chunkBlocks * 8 * (8*64 + 64)
)

// tileRowsOf returns how many of the remaining activation rows to process next;
// a scale for every 16 columns takes twice the registers.
func tileRowsOf(d tensor.DType, rows int) int {
	switch {
	case level.Load() == levelNEON || rows == 1:
		return 1
	case rows >= 8 && !per16(d):
		return 8
	case rows >= 4:
		return 4
	}
	return 2
}

// matMulTiles multiplies packed weights.
func matMulTiles(dst []float32, dstStride int, w *Matrix, lo, hi int, x xRows, rows int) {
	if level.Load() == 0 {
		matMulTilesGeneric(dst, dstStride, w, lo, hi, x, rows)
		return
	}
	var sums tileSums
	p := packingOf(w.DType)
	tile := p.TileBytes(w.Cols)
	for r := 0; r < rows; r += passRows {
		some := min(passRows, rows-r)
		out := dst[r*dstStride:]
		eachTile(lo, hi, func(j, n int) {
			clearRows(out[j:], dstStride, n, some)
			packed := w.Tiles[j/TileRows*tile:][:tile]
			for c := 0; c < w.Cols; {
				cols := min(chunkCols, w.Cols-c)
				ch := chunkOf(p, packed, cols)
				sums.addChunk(out[j:], dstStride, w.DType, &ch, j%TileRows, n, x.from(r), c, some)
				packed, c = packed[p.ChunkBytes(cols):], c+cols
			}
		})
	}
}

// matMulInt packs a chunk of 16 rows at a time.
func matMulInt(dst []float32, dstStride int, w *Matrix, lo, hi int, x xRows, rows int) {
	p := packingOf(w.DType)
	if level.Load() == 0 || blockPackedBytes(w.DType, 1, blockCols) == 0 {
		matMulIntGeneric(dst, dstStride, w, lo, hi, x, rows)
		return
	}
	var (
		sums   tileSums
		packed [mostChunk]byte
	)
	size := w.rowBytes()
	eachTile(lo, hi, func(j, n int) {
		clearRows(dst[j:], dstStride, n, rows)
		for c := 0; c < w.Cols; {
			cols := min(chunkCols, w.Cols-c)
			ch := chunkOf(p, packed[:], cols)
			for i := range n {
				row := w.Data[(j+i)*size+typeRowBytes(w.DType, c):]
				ch.PackRow(w.DType, j%TileRows+i, row[:typeRowBytes(w.DType, cols)])
			}
			sums.addChunk(dst[j:], dstStride, w.DType, &ch, j%TileRows, n, x, c, rows)
			c += cols
		}
	})
}

// eachTile calls f for the parts of [lo, hi) that are within one tile each.
func eachTile(lo, hi int, f func(j, n int)) {
	for j := lo; j < hi; {
		n := min(hi, (j/TileRows+1)*TileRows) - j
		f(j, n)
		j += n
	}
}

func clearRows(dst []float32, stride, n, rows int) {
	for r := range rows {
		clear(dst[r*stride:][:n])
	}
}

// tileSums holds the lanes of the sums of a tile: [16][activation rows][16].
type tileSums [16 * mostRows * TileRows]float32

// addChunk adds to n outputs the products of a chunk's rows, starting at first,
// with the columns from c of activation rows.
func (sums *tileSums) addChunk(dst []float32, dstStride int, d tensor.DType, ch *chunk, first, n int, x xRows, c, rows int) {
	halves := per16(d)
	for r := 0; r < rows; {
		k := tileRowsOf(d, rows-r)
		lanes := sums[:16*k*TileRows]
		clear(lanes)
		cells, xStride := &x.cells(r)[c/32], FormQ8.RowBytes(x.cols)
		scales, blocks := unsafe.SliceData(ch.Scales), unsafe.SliceData(ch.Blocks)
		if level.Load() == levelDot {
			tilesDot(d, k, &lanes[0], &ch.Codes[0], scales, blocks, cells, xStride, ch.N, ch.Full)
		} else {
			tilesNEON(d, k, &lanes[0], &ch.Codes[0], scales, blocks, cells, xStride, ch.N, ch.Full)
		}
		var out [mostRows * TileRows]float32
		if halves {
			foldTiles16NEON(&out[0], &lanes[0], 4*k*TileRows, 4*k)
		} else {
			foldTiles8NEON(&out[0], &lanes[0], 4*k*TileRows, 4*k)
		}
		for i := range k {
			for o, v := range out[i*TileRows+first:][:n] {
				dst[(r+i)*dstStride+o] += v
			}
		}
		r += k
	}
}
