// Products of float32 matrices, cut into blocks for threads and caches.

package dense

import (
	"unsafe"

	"atenia/internal/kernel/exact"
)

const (
	tileCols = 16 // columns of dst that a vector holds
	tileRows = 12 // rows of dst whose sums stay in registers
	// A block of dst is at most this large: so many rows of 256 columns of the
	// left operand, and so many columns of the right one, stay in the
	// second-level cache.
	blockRows, blockCols   = 684, 128
	turnedRows, turnedCols = 348, 384
	// directBytes of a right operand need no packing: they stay in the
	// first-level cache as they are.
	directBytes = 16 << 10
	// directRows rows do not pay for packing what they are multiplied with.
	directRows = 24
)

// A gemm is dst[m, n] += a·b, or = if fresh. Strides are from row to row.
type gemm struct {
	dst, a, b     []float32
	ldd, lda, ldb int
	m, k, n       int
	aT, bT        bool // a is [k, m], b is [n, k]
	fresh         bool
	ready         []float32 // b as packRight makes it, or nil

	blockM, blockN, across int // the size of blocks, and how many side by side
	panels                 []panel
}

// A panel is memory for packed operands, of one thread.
type panel struct {
	a    []float32 // [rows/12][256][12]
	b    []float32 // [cols/16][256][16]
	last [tileRows * tileCols]float32
}

// level gives all threads as much memory as the one that has most. Which of them
// gets a large block is chance, so that otherwise one may need memory long after
// the others have theirs.
func level(panels []panel) {
	a, b := 0, 0
	for i := range panels {
		a, b = max(a, len(panels[i].a)), max(b, len(panels[i].b))
	}
	for i := range panels {
		panels[i].a, panels[i].b = grow(panels[i].a, a), grow(panels[i].b, b)
	}
}

// cut chooses the size of blocks, so that there are some for each thread, and
// returns their number.
func (g *gemm) cut(threads int) int {
	g.blockM, g.blockN = blockRows, blockCols
	if g.aT {
		g.blockM, g.blockN = turnedRows, turnedCols
	}
	even := func(n, most, unit int) int {
		parts := (n + most - 1) / most
		return ((n+parts-1)/parts + unit - 1) / unit * unit
	}
	g.blockM, g.blockN = even(g.m, g.blockM, tileRows), even(g.n, g.blockN, 2*tileCols)
	for g.count() < threads && g.blockM > 8*tileRows {
		g.blockM = even(g.blockM, (g.blockM+1)/2, tileRows)
	}
	g.across = (g.n + g.blockN - 1) / g.blockN
	return g.count()
}

func (g *gemm) count() int {
	return (g.m + g.blockM - 1) / g.blockM * ((g.n + g.blockN - 1) / g.blockN)
}

// Range computes blocks [lo, hi).
func (g *gemm) Range(worker, lo, hi int) {
	for i := lo; i < hi; i++ {
		r, c := i/g.across*g.blockM, i%g.across*g.blockN
		g.block(&g.panels[worker], r, min(g.blockM, g.m-r), c, min(g.blockN, g.n-c))
	}
}

// block computes m rows from i0 and n columns from j0 of dst.
func (g *gemm) block(p *panel, i0, m, j0, n int) {
	for c := 0; c < g.k; c += chainCols {
		k := min(chainCols, g.k-c)
		x := g.left(p, i0, m, c, k, n)
		w := g.right(p, j0, n, c, k, m)
		x.fresh = g.fresh && c == 0
		next := g.next(i0, m, j0, n, c+chainCols)
		for t := 0; t < n; t += w.cols {
			w.at(t, n)
			for r := 0; r < m; r += x.rows {
				x.at(r, m)
				next.some()
				if t == 0 {
					x.expect(r, m, k)
				}
				dst := g.dst[(i0+r)*g.ldd+j0+t:]
				if w.cols < tileCols {
					p.edge(dst, g.ldd, &x, &w, k)
				} else {
					addTiles(dst, g.ldd, &x, &w, k)
				}
			}
		}
	}
}

// A request asks for the rows that are packed next, some with every product
// of tiles, so that they have come when the time is there.
type request struct {
	a, b         []float32
	lda, ldb     int
	m, n         int
	left, atOnce int
}

// next returns the request for rows from c on.
func (g *gemm) next(i0, m, j0, n, c int) request {
	k := min(chainCols, g.k-c)
	if !g.aT || g.bT || k <= 0 {
		return request{}
	}
	calls := (m + tileRows - 1) / tileRows * ((n + 2*tileCols - 1) / (2 * tileCols))
	return request{a: g.a[c*g.lda+i0:], b: g.b[c*g.ldb+j0:], lda: g.lda, ldb: g.ldb, m: m, n: n,
		left: k, atOnce: (k + calls - 1) / calls}
}

func (q *request) some() {
	if q.left == 0 {
		return
	}
	n := min(q.left, q.atOnce)
	prefetch(q.a, q.lda, q.m, n)
	prefetch(q.b, q.ldb, q.n, n)
	if q.left -= n; q.left > 0 {
		q.a, q.b = q.a[n*q.lda:], q.b[n*q.ldb:]
	}
}

// edge adds a tile that dst has not all columns of.
func (p *panel) edge(dst []float32, ldd int, x *leftRows, w *rightTiles, k int) {
	for r := range x.n {
		copy(p.last[r*tileCols:], dst[r*ldd:][:w.cols])
	}
	whole := *w
	whole.cols = tileCols
	addTiles(p.last[:], tileCols, x, &whole, k)
	for r := range x.n {
		copy(dst[r*ldd:][:w.cols], p.last[r*tileCols:])
	}
}

// leftRows are rows of the left operand: value p of row r lies at r·stride+p
// or, by columns, at p·stride+r.
type leftRows struct {
	v         []float32
	stride    int
	byColumns bool
	all       []float32
	group     int // values from rows to rows
	rows, n   int // a step of rows, and this one
	fresh     bool
}

// at goes to rows from r of m.
func (x *leftRows) at(r, m int) {
	x.v, x.n = x.all[r/x.rows*x.group:], min(x.rows, m-r)
}

// expect asks for the rows after those from r, which lie where they were made.
func (x *leftRows) expect(r, m, k int) {
	if n := min(x.rows, m-r-x.rows); n > 0 && !x.byColumns {
		prefetch(x.all[(r/x.rows+1)*x.group:], x.stride, k, n)
	}
}

// left returns m rows from i0 of columns from c, packed if they lie across
// and are used often.
func (g *gemm) left(p *panel, i0, m, c, k, n int) leftRows {
	if !g.aT {
		calls := (m + tileRows - 1) / tileRows
		rows := (m + calls - 1) / calls
		return leftRows{all: g.a[i0*g.lda+c:], stride: g.lda, group: rows * g.lda, rows: rows}
	}
	src := g.a[c*g.lda+i0:]
	if n <= 2*tileCols || 4*k*g.lda <= directBytes {
		return leftRows{all: src, stride: g.lda, byColumns: true, group: tileRows, rows: tileRows}
	}
	group := k*tileRows + tileCols
	p.a = grow(p.a, (m+tileRows-1)/tileRows*group)
	packColumns(p.a, group, src, g.lda, tileRows, m, k)
	return leftRows{all: p.a, stride: tileRows, byColumns: true, group: group, rows: tileRows}
}

// rightTiles are tiles of 16 columns of the right operand: value j of row p of
// tile t lies at t·tile+p·step+j.
type rightTiles struct {
	v          []float32
	step, tile int
	cols       int // of this step: two tiles, one, or less
	packed     []float32
	group      int // values from tile to tile in packed
	direct     []float32
	ldb        int
}

// at goes to columns from t of n.
func (w *rightTiles) at(t, n int) {
	w.cols = min(n-t, 2*tileCols)
	if w.cols > tileCols {
		w.cols &^= tileCols - 1
	}
	if w.direct != nil && w.cols >= tileCols {
		w.v, w.step, w.tile = w.direct[t:], w.ldb, tileCols
		return
	}
	w.v, w.step, w.tile = w.packed[t/tileCols*w.group:], tileCols, w.group
}

// right returns n columns from j0 of rows from c, packed if they are used
// often.
func (g *gemm) right(p *panel, j0, n, c, k, m int) rightTiles {
	tiles, group := (n+tileCols-1)/tileCols, (k+1)*tileCols
	if g.ready != nil {
		return rightTiles{packed: g.ready[j0/tileCols*group:], group: group}
	}
	p.b = grow(p.b, tiles*group)
	w := rightTiles{packed: p.b, group: group}
	switch {
	case g.bT:
		for t := range tiles {
			j := t * tileCols
			packRows(p.b[t*group:], g.b[(j0+j)*g.ldb+c:], g.ldb, min(tileCols, n-j), k)
		}
	case m <= directRows || 4*k*g.ldb <= directBytes:
		w.direct, w.ldb = g.b[c*g.ldb+j0:], g.ldb
		if whole := n / tileCols; whole < tiles {
			packColumns(p.b[whole*group:], group, w.direct[whole*tileCols:], g.ldb, tileCols, n-whole*tileCols, k)
		}
	default:
		packColumns(p.b, group, g.b[c*g.ldb+j0:], g.ldb, tileCols, n, k)
	}
	return w
}

// packRight returns the right operand b[n, k]ᵀ, packed in old memory or new,
// for products of at most one chain.
func packRight(old, b []float32, ldb, n, k int) []float32 {
	group := (k + 1) * tileCols
	old = grow(old, (n+tileCols-1)/tileCols*group)
	for j := 0; j < n; j += tileCols {
		packRows(old[j/tileCols*group:], b[j*ldb:], ldb, min(tileCols, n-j), k)
	}
	return old
}

// addTilesGeneric says what tiles add to dst: for every value a chain of fused
// multiply-adds from zero.
func addTilesGeneric(dst []float32, ldd int, x *leftRows, w *rightTiles, k int) {
	row, col := x.stride, 1
	if x.byColumns {
		row, col = 1, x.stride
	}
	for r := range x.n {
		for t := range w.cols / tileCols {
			var sum [tileCols]float32
			for p := range k {
				v := x.v[r*row+p*col]
				for j, b := range w.v[t*w.tile+p*w.step:][:tileCols] {
					sum[j] = exact.FMA(v, b, sum[j])
				}
			}
			out := dst[r*ldd+t*tileCols:][:tileCols]
			if x.fresh {
				clear(out)
			}
			for j, s := range sum {
				out[j] += s
			}
		}
	}
}

// packColumnsGeneric lays the columns of k rows in groups, each width wide, row
// behind row; what columns a group lacks are zeros.
func packColumnsGeneric(dst []float32, group int, src []float32, stride, width, columns, k int) {
	for j := 0; j < columns; j += width {
		have := min(width, columns-j)
		for p := range k {
			row := dst[j/width*group+p*width:][:width]
			clear(row[copy(row, src[p*stride+j:][:have]):])
		}
	}
}

// packRowsGeneric lays k columns of have rows of src one behind another, each
// 16 long, the rest of it zeros.
func packRowsGeneric(dst, src []float32, stride, have, k int) {
	for p := range k {
		row := dst[p*tileCols:][:tileCols]
		clear(row[have:])
		for j := range have {
			row[j] = src[j*stride+p]
		}
	}
}

// grow returns memory for n values that starts with a cache line.
func grow(old []float32, n int) []float32 {
	if len(old) >= n {
		return old
	}
	b := make([]float32, n+16)
	return b[-uintptr(unsafe.Pointer(&b[0]))&63/4:][:n]
}
