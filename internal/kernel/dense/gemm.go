// Float32 matrix products, blocked for threads and caches.

package dense

import (
	"unsafe"

	"atenia/internal/kernel"
)

const (
	tileCols = 16 // columns of dst per vector
	tileRows = 12 // rows of dst whose sums stay in registers
	// Upper bounds of a block of dst: blockRows rows of 256 columns of the left
	// operand, and blockCols columns of the right one, fit the L2 cache.
	blockRows, blockCols   = 684, 128
	turnedRows, turnedCols = 348, 384
	// directBytes is the size up to which a right operand is not packed, since
	// it stays in the L1 cache as it is.
	directBytes = 16 << 10
	// directRows is the number of rows up to which packing the right operand
	// does not pay off.
	directRows = 24
)

// A gemm is dst[m, n] += a·b, or = if fresh. Strides are between rows.
type gemm struct {
	dst, a, b     []float32
	ldd, lda, ldb int
	m, k, n       int
	aT, bT        bool // a is [k, m], b is [n, k]
	fresh         bool
	ready         []float32 // b as packed by packRight, or nil

	blockM, blockN, across int // size of blocks, and number of blocks side by side
	panels                 []panel
}

// A panel is one thread's memory for packed operands.
type panel struct {
	a    []float32 // [rows/12][256][12]
	b    []float32 // [cols/16][256][16]
	last [tileRows * tileCols]float32
}

// level gives all threads as much memory as the one with the most. Which thread
// gets a large block varies, so that otherwise one might allocate long after
// the others.
func level(panels []panel) {
	a, b := 0, 0
	for i := range panels {
		a, b = max(a, len(panels[i].a)), max(b, len(panels[i].b))
	}
	for i := range panels {
		panels[i].a, panels[i].b = grow(panels[i].a, a), grow(panels[i].b, b)
	}
}

// cut chooses the size of blocks so that every thread gets several, and returns
// their number.
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

// A request prefetches the rows that are packed next, a few with every product
// of tiles, so that they are in the cache in time.
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

// edge adds a tile that extends past the columns of dst.
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

// leftRows are rows of the left operand: value p of row r is at r·stride+p or,
// by columns, at p·stride+r.
type leftRows struct {
	v         []float32
	stride    int
	byColumns bool
	all       []float32
	group     int // values between groups of rows
	rows, n   int // step in rows, and the current number
	fresh     bool
}

// at selects the rows from r of m.
func (x *leftRows) at(r, m int) {
	x.v, x.n = x.all[r/x.rows*x.group:], min(x.rows, m-r)
}

// expect prefetches the rows after those from r, where they are stored.
func (x *leftRows) expect(r, m, k int) {
	if n := min(x.rows, m-r-x.rows); n > 0 && !x.byColumns {
		prefetch(x.all[(r/x.rows+1)*x.group:], x.stride, k, n)
	}
}

// left returns m rows from i0 of columns from c, packed if they are strided and
// used often.
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
// tile t is at t·tile+p·step+j.
type rightTiles struct {
	v          []float32
	step, tile int
	cols       int // of this step: two tiles, one, or part of one
	packed     []float32
	group      int // values between tiles in packed
	direct     []float32
	ldb        int
}

// at selects the columns from t of n.
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

// packRight returns the right operand b[n, k]ᵀ packed, in old if it is large
// enough, for products of at most one chain.
func packRight(old, b []float32, ldb, n, k int) []float32 {
	group := (k + 1) * tileCols
	old = grow(old, (n+tileCols-1)/tileCols*group)
	for j := 0; j < n; j += tileCols {
		packRows(old[j/tileCols*group:], b[j*ldb:], ldb, min(tileCols, n-j), k)
	}
	return old
}

// addTilesGeneric specifies what tiles add to dst: for every value a chain of
// fused multiply-adds, from zero.
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
					sum[j] = kernel.FMA(v, b, sum[j])
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

// packColumnsGeneric packs the columns of k rows in groups of the given width,
// row after row, padded with zeros.
func packColumnsGeneric(dst []float32, group int, src []float32, stride, width, columns, k int) {
	for j := 0; j < columns; j += width {
		have := min(width, columns-j)
		for p := range k {
			row := dst[j/width*group+p*width:][:width]
			clear(row[copy(row, src[p*stride+j:][:have]):])
		}
	}
}

// packRowsGeneric stores k columns of have rows consecutively, each 16 long and
// padded with zeros.
func packRowsGeneric(dst, src []float32, stride, have, k int) {
	for p := range k {
		row := dst[p*tileCols:][:tileCols]
		clear(row[have:])
		for j := range have {
			row[j] = src[j*stride+p]
		}
	}
}

// grow returns memory for n values, aligned to a cache line.
func grow(old []float32, n int) []float32 {
	if len(old) >= n {
		return old
	}
	b := make([]float32, n+16)
	return b[-uintptr(unsafe.Pointer(&b[0]))&63/4:][:n]
}
