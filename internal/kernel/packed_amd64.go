//go:build !noasm

package kernel

import (
	"cmp"
	"unsafe"

	"atenia/tensor"
)

// tileArgs holds the arguments of assembly's products of packed weights: dst +=
// tiles · x for 16 outputs per tile and some activation rows. Strides are in
// bytes.
type tileArgs struct {
	dst       *float32
	dstStride int
	w         *byte
	step      int // from tile to tile
	tiles     int
	x         *xCell
	xStride   int
	cols      int
	sums      *float32 // [16][rows][16], the stored sums of passes
	xBack     int      // bytes of all cells of a row, negated
	_         [7]int   // scratch for assembly
}

// tileCall is how many bytes of weights one call of assembly reads: it cannot be
// preempted, so that the garbage collector has to wait for it.
const tileCall = 512 << 10

const (
	// fusedTileRows is the number of activation rows up to which weights are
	// unpacked in registers.
	fusedTileRows = 12
	// panelTiles is the number of tiles expanded at a time, to share one read of
	// the activations; they stay in L2.
	panelTiles = 8
)

// tileRowsOf returns how many of the remaining activation rows to process next.
func tileRowsOf(rows, most int) int {
	switch {
	case rows >= 12 && most >= 12 && rows != 16: // 16 is better processed as twice 8
		return 12
	case rows >= 8 && level.Load() == levelAVX512:
		return 8
	case rows >= 4:
		return 4
	case rows >= 2:
		return 2
	}
	return 1
}

// matMulTiles multiplies packed weights: whole tiles directly into dst, tiles
// cut by the range through a buffer.
func matMulTiles(dst []float32, dstStride int, w *Matrix, lo, hi int, x xRows, rows int) {
	if level.Load() == 0 {
		matMulTilesGeneric(dst, dstStride, w, lo, hi, x, rows)
		return
	}
	for j := lo; j < hi; {
		tile := j / TileRows
		if n := (hi - j) / TileRows; n > 0 && j%TileRows == 0 {
			someTiles(dst[j:], dstStride, w, tile, n, x, rows)
			j += n * TileRows
			continue
		}
		n := min(hi, (tile+1)*TileRows) - j
		for r := 0; r < rows; r += 8 {
			var out [8 * TileRows]float32
			k := min(8, rows-r)
			fusedTiles(out[:], TileRows, w, tile, 1, x.from(r), k)
			for i := range k {
				copy(dst[(r+i)*dstStride+j:][:n], out[i*TileRows+j%TileRows:])
			}
		}
		j += n
	}
}

func someTiles(dst []float32, dstStride int, w *Matrix, tile, tiles int, x xRows, rows int) {
	group := panelGroup(w, tile, tiles, x, rows)
	most := cmp.Or(group, max(1, tileCall/packingOf(w.DType).TileBytes(w.Cols)))
	for i := 0; i < tiles; i += most {
		n := min(most, tiles-i)
		if group > 0 {
			panelTilesOf(dst[i*TileRows:], dstStride, w, tile+i, n, x, rows)
		} else {
			fusedTiles(dst[i*TileRows:], dstStride, w, tile+i, n, x, rows)
		}
	}
}

// fusedTiles multiplies whole tiles, unpacking weights in registers.
func fusedTiles(dst []float32, dstStride int, w *Matrix, tile, tiles int, x xRows, rows int) {
	var sums [16 * 8 * TileRows]float32
	step := packingOf(w.DType).TileBytes(w.Cols)
	a := tileArgs{w: &w.Tiles[tile*step], step: step, cols: x.cols, sums: &sums[0]}
	for r := 0; r < rows; {
		n := tileRowsOf(rows-r, 8)
		a = a.to(dst[r*dstStride:], dstStride, n, tiles, x.from(r), 0)
		if level.Load() == levelAVX512 {
			tilesAVX512(w.DType, n, a.ptr())
		} else {
			tilesAVX2(w.DType, n, a.ptr())
		}
		r += n
	}
}

// to sets the destination and the activations, n rows from column c on. For the
// first columns it zeroes dst, which is then in the cache when it is added to.
func (a tileArgs) to(dst []float32, dstStride, n, tiles int, x xRows, c int) tileArgs {
	_ = dst[(n-1)*dstStride+tiles*TileRows-1]
	for r := 0; r < n && c == 0; r++ {
		clear(dst[r*dstStride:][:tiles*TileRows])
	}
	a.dst, a.dstStride, a.tiles = &dst[0], 4*dstStride, tiles
	a.x, a.xStride = &x.cells(0)[c/32], FormQ8.RowBytes(x.cols)
	a.xBack = 8 * xCellBytes * blocks(a.cols)
	return a
}

func (a *tileArgs) ptr() *byte { return (*byte)(unsafe.Pointer(a)) }

// A panelMemory holds tiles of one chunk, expanded to bytes and floats: codes
// and, for every 16 columns at most, scales and minima.
type panelMemory struct {
	panels [panelTiles][chunkBlocks * 8 * (512 + 4*64)]byte
	_      [64]byte // slack to align panels to a cache line
	sums   [16 * 12 * TileRows]float32
	packed []byte // weight tiles packed for a single product
}

// panelsFree is a free list of panels, at most as many as products ever ran
// concurrently.
var panelsFree = make(chan *panelMemory, 64)

func takePanels() *panelMemory {
	select {
	case m := <-panelsFree:
		return m
	default:
		return new(panelMemory)
	}
}

func leavePanels(m *panelMemory) {
	select {
	case panelsFree <- m:
	default:
	}
}

// aligned64 returns b from its first whole cache line on.
func aligned64(b []byte) []byte { return b[-uintptr(unsafe.Pointer(&b[0]))&63:] }

// panelTilesOf multiplies up to panelTiles tiles, chunk by chunk. Tiles of Q8_0
// are used as panels directly.
func panelTilesOf(dst []float32, dstStride int, w *Matrix, tile, tiles int, x xRows, rows int) {
	m := takePanels()
	p := packingOf(w.DType)
	step := p.TileBytes(w.Cols)
	packed := w.Tiles[tile*step:]
	for c := 0; c < w.Cols; c += chunkCols {
		cols := min(chunkCols, w.Cols-c)
		a := tileArgs{w: &packed[0], step: step, cols: cols, sums: &m.sums[0]}
		if w.DType != tensor.Q8_0 {
			a.w, a.step = &aligned64(m.panels[0][:])[0], len(m.panels[0])
			for i := range tiles {
				e := tileArgs{w: &packed[i*step], cols: cols, x: (*xCell)(unsafe.Add(unsafe.Pointer(a.w), i*a.step))}
				expandTile(w.DType, e.ptr())
			}
		}
		for r := 0; r < rows; {
			n := tileRowsOf(rows-r, 12)
			a = a.to(dst[r*dstStride:], dstStride, n, tiles, x.from(r), c)
			if w.DType == tensor.Q8_0 {
				tilesAVX512(w.DType, n, a.ptr())
			} else {
				panelsAVX512(w.DType, n, a.ptr())
			}
			r += n
		}
		if c+cols < w.Cols {
			packed = packed[p.ChunkBytes(cols):]
		}
	}
	leavePanels(m)
}
