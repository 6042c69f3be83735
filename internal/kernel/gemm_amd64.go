//go:build !noasm

package kernel

import (
	"unsafe"

	"atenia/tensor"
)

const (
	// streamRows is the number of activation rows up to which half-precision
	// weights are widened in registers: repeatedly, for each group of rows, but
	// hidden behind memory latency.
	streamRows = 48
	// groupTiles tiles are multiplied before the next columns, which divides the
	// reads of activations by as much.
	groupTiles = 4
	// blockRows activation rows of 256 columns take half of L2.
	blockRows = 1020
	// fewBytes and manyBytes are the sizes of the buffer for tiles of 256 columns,
	// for few activation rows, where clearing it must be cheap, and for many.
	fewBytes  = 32 << 10
	manyBytes = groupTiles * chainCols * TileRows * 4
)

// A floatProduct holds the arguments of matMulFloats, with at most blockRows
// rows.
type floatProduct struct {
	dst           []float32 // starting at the first output
	dstStride     int
	w             *Matrix
	x             []float32
	xStride, rows int
	packed        bool // read from w.Tiles
	widened       bool // half-precision weights are widened to float32 first
	pairs         bool // an element is two columns of BF16
}

// matMulFloats multiplies whole tiles directly into dst and the cut ends of the
// range through a buffer. Packed weights are read in place, except that halves
// are widened once per blockRows for many activation rows; other weights are
// packed first.
func matMulFloats(dst []float32, dstStride int, w *Matrix, lo, hi int, x []float32, xStride, rows int) {
	if level.Load() == 0 {
		matMulFloatsGeneric(dst, dstStride, w, lo, hi, x, xStride, rows)
		return
	}
	matMulElements(dst, dstStride, w, lo, hi, x, xStride, rows, false)
}

// matMulElements multiplies floats, or pairs that are taken for such.
func matMulElements(dst []float32, dstStride int, w *Matrix, lo, hi int, x []float32, xStride, rows int, pairs bool) {
	size := elementSize(w.DType)
	for r := 0; r < rows; r += blockRows {
		p := floatProduct{dstStride: dstStride, w: w, x: x[r*xStride:], xStride: xStride, rows: min(blockRows, rows-r), pairs: pairs}
		p.packed = size > 0 && w.Tiles != nil
		p.widened = size == 0 || size == 2 && p.rows > streamRows
		for j := lo; j < hi; {
			p.dst = dst[r*dstStride+j:]
			n := min((hi-j)/TileRows, groupTiles)
			if n == 0 || p.packed && j%TileRows != 0 {
				j = p.multiplyTile(j, hi)
				continue
			}
			p.tiles(j, n)
			j += n * TileRows
		}
	}
}

// multiplyTile multiplies the rows from j to hi or to the end of the tile, and returns
// where it stopped.
func (p *floatProduct) multiplyTile(j, hi int) int {
	var out [12 * TileRows]float32
	first := j &^ (TileRows - 1)
	if !p.packed {
		first = max(0, min(j, p.w.Rows-TileRows))
	}
	hi = min(hi, first+TileRows)
	q := *p
	q.dst, q.dstStride = out[:], TileRows
	for r := 0; r < p.rows; r += q.rows {
		q.x, q.rows = p.x[r*p.xStride:], min(p.rowsPerCall(), p.rows-r)
		q.tiles(first, 1)
		for i := range q.rows {
			copy(p.dst[(r+i)*p.dstStride:][:hi-j], out[i*TileRows+j-first:])
		}
	}
	return hi
}

// rowsPerCall returns how many activation rows one call of assembly multiplies.
func (p *floatProduct) rowsPerCall() int {
	if level.Load() == levelAVX2 {
		return 6
	}
	return 12
}

// panelBytes returns the size of 256 columns of a tile in the form that is
// multiplied.
func (p *floatProduct) panelBytes() int {
	if p.widened {
		return chainCols * TileRows * 4
	}
	return chainCols * TileRows * elementSize(p.w.DType)
}

// tiles multiplies n tiles, the first of which starts at row j.
func (p *floatProduct) tiles(j, n int) {
	switch few := fewBytes / p.panelBytes(); {
	case p.packed && !p.widened:
		p.columns(j, n, nil)
	case n > few && p.rows > streamRows:
		p.stagedMany(j, n)
	default:
		q := *p
		for t := 0; t < n; t += few {
			q.dst = p.dst[t*TileRows:]
			q.stagedFew(j+t*TileRows, min(few, n-t))
		}
	}
}

func (p *floatProduct) stagedFew(j, n int) {
	var panel [fewBytes + 64]byte
	p.columns(j, n, align(panel[:]))
}

func (p *floatProduct) stagedMany(j, n int) {
	var panel [manyBytes + 64]byte
	p.columns(j, n, align(panel[:]))
}

// align returns b from its first cache line on.
func align(b []byte) []byte { return b[-int(uintptr(unsafe.Pointer(&b[0])))&63:] }

// columns multiplies tiles, 256 columns at a time.
func (p *floatProduct) columns(j, n int, panel []byte) {
	for r := range p.rows {
		clear(p.dst[r*p.dstStride:][:n*TileRows])
	}
	calls := (p.rows + p.rowsPerCall() - 1) / p.rowsPerCall()
	each := (p.rows + calls - 1) / calls
	for c := 0; c < p.w.Cols; c += chainCols {
		cols := min(chainCols, p.w.Cols-c)
		d, w, step := p.stage(panel, j, n, c, cols)
		for r := 0; r < p.rows; r += each {
			rows := min(each, p.rows-r)
			for t := 0; t < n; {
				if p.pairs {
					t += p.pairDots(t, n-t, r, rows, c, cols, w[t*step:], step)
					continue
				}
				k := tilesOf(rows, n-t)
				dots(&p.dst[r*p.dstStride+t*TileRows], 4*p.dstStride, d, k, &w[t*step], step, &p.x[r*p.xStride+c], 4*p.xStride, cols, rows)
				t += k
			}
		}
	}
}

// stage returns the columns from c of the tiles, of type d and step bytes apart:
// in place if already packed in the right form, else in panel.
func (p *floatProduct) stage(panel []byte, j, n, c, cols int) (d tensor.DType, tiles []byte, step int) {
	d, size := p.w.DType, elementSize(p.w.DType)
	if p.packed {
		step = p.w.tileBytes()
		tiles = p.w.Tiles[j/TileRows*step+c*TileRows*size:]
		if !p.widened {
			return d, tiles, step
		}
	}
	for t := range n {
		out := panel[t*p.panelBytes():][:cols*p.panelBytes()/chainCols]
		switch half := out[len(out)/2:]; {
		case p.packed:
			loadCols(floats(out), d, tiles[t*step:], 0)
		case size == 0:
			p.w.packDequantized(out, j+t*TileRows, c, cols)
		case p.widened: // packed into the second half of its place first
			p.w.packColumns(half, j+t*TileRows, c, cols)
			loadCols(floats(out), d, half, 0)
		default:
			p.w.packColumns(out, j+t*TileRows, c, cols)
		}
	}
	if p.widened {
		d = tensor.F32
	}
	return d, panel, p.panelBytes()
}

// packDequantized packs columns of 16 rows of any type as float32.
func (w *Matrix) packDequantized(out []byte, j, c, cols int) {
	var values [TileRows * chainCols]float32
	size := w.rowBytes()
	for r := range min(TileRows, w.Rows-j) {
		loadCols(values[r*cols:][:cols], w.DType, w.Data[(j+r)*size:(j+r+1)*size], c)
	}
	plain := Matrix{DType: tensor.F32, Rows: TileRows, Cols: cols, Data: bytesOf(values[:])}
	plain.packColumns(out, 0, 0, cols)
}

// packColumns passes whole cache lines of 16 rows to assembly.
func (w *Matrix) packColumns(dst []byte, j, c, n int) {
	const most = 1024 // columns per call: assembly cannot be preempted
	size := elementSize(w.DType)
	m := whole(n, 64/size)
	if w.Rows-j < TileRows {
		m = 0
	}
	for i := 0; i < m; i += most {
		out, in, k := &dst[i*TileRows*size], &w.Data[(j*w.Cols+c+i)*size], min(most, m-i)
		if size == 2 {
			pack16AVX2(out, in, w.Cols*size, k)
		} else {
			pack32AVX2(out, in, w.Cols*size, k)
		}
	}
	w.packColumnsGeneric(dst[m*TileRows*size:], j, c+m, n-m)
}

// tilesOf returns how many of the remaining tiles to multiply at once.
func tilesOf(rows, tiles int) int {
	wide := level.Load() == levelAVX512
	switch {
	case tiles >= 4 && (rows == 1 || rows == 2 && wide):
		return 4
	case tiles >= 2 && wide:
		return 2
	}
	return 1
}
