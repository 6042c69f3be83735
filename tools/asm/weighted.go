package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// weightedRows makes the attention sums: some queries by some vectors of
// columns in registers, rows in order.
func weightedRows(i isa) {
	for _, d := range cacheTypes {
		for _, cols := range weightedColumns(i, d) {
			weighted(i, d, cols*4/i.width())
		}
	}
}

// cacheTypes are the types of cached keys and values.
var cacheTypes = []string{"F32", "F16", "Q80"}

// weightedColumns are the numbers of columns that weighted sums are made for.
func weightedColumns(i isa, d string) []int {
	switch {
	case d == "Q80": // a block
		return []int{32}
	case i == avx512:
		return []int{32, 16}
	}
	return []int{16, 8} // 8 also for AVX-512: heads of 72 and 88
}

// weightedQueries is how many queries have their sums in registers: so many that
// sums do not wait for each other.
func weightedQueries(i isa, parts int) int {
	if i == avx512 && parts == 1 {
		return queriesAtOnce(i, "")
	}
	return queriesAtOnce(i, "") * 2 / parts
}

// A weighting is the registers of queries by columns.
type weighting struct {
	i     isa
	d     string
	parts int // vectors of columns
	v, p  reg.GPVirtual
	acc   []reg.VecVirtual // [queries][parts]
}

// weighted makes the sums of some columns.
func weighted(i isa, d string, parts int) {
	cols := parts * i.width() / 4
	name := fmt.Sprintf("weighted%sc%d%s", d, cols, i)
	text(name, "func(dst *float32, dstStride int, p *float32, n int, tiles **byte, off, rowBytes, first, count int)")
	Doc(fmt.Sprintf("%s does weightedGeneric for %d columns, off bytes into the rows: first rows of the first tile, count in all; strides are in bytes, and %d pointers more are read.", name, cols, tilesAhead))
	w := &weighting{i: i, d: d, parts: parts, v: GP64(), p: GP64()}
	dst, p, n := arg("dst"), arg("p"), GP64()
	rowBytes := arg("rowBytes")
	MOVQ(NewParamAddr("n", 24), n)
	done := label("done")
	forQueries(weightedQueries(i, parts), n, done, func(count int) {
		w.sum(count, dst, p, rowBytes)
		ADDQ(U32(uint32(count*spanBytes)), p)
		for range count {
			ADDQ(NewParamAddr("dstStride", 8), dst)
		}
	})
	Label(done)
	ret()
}

// sum adds all rows for some queries.
func (w *weighting) sum(count int, dst, first, rowBytes reg.GPVirtual) {
	w.acc = w.i.vecs(count * w.parts)
	out := GP64()
	each := func(f func(k int, m Mem)) {
		MOVQ(dst, out)
		for r := range count {
			for k := range w.parts {
				f(r*w.parts+k, at(out, k*w.i.width()))
			}
			if r+1 < count {
				ADDQ(NewParamAddr("dstStride", 8), out)
			}
		}
	}
	each(func(k int, m Mem) { VMOVUPS(m, w.acc[k]) })
	MOVQ(first, w.p)
	tiles, next, rows, left := GP64(), GP64(), GP64(), GP64()
	MOVQ(NewParamAddr("tiles", 32), tiles)
	MOVQ(NewParamAddr("first", 56), rows)
	MOVQ(NewParamAddr("count", 64), left)
	tile, row := label("tile"), label("row")
	Label(tile)
	SUBQ(rows, left)
	MOVQ(at(tiles, 0), w.v)
	MOVQ(at(tiles, 8*tilesAhead), next)
	SUBQ(w.v, next)
	ADDQ(NewParamAddr("off", 40), w.v)
	ADDQ(Imm(8), tiles)
	Label(row)
	PREFETCHT0(Mem{Base: w.v, Index: next, Scale: 1})
	w.row(count)
	ADDQ(rowBytes, w.v)
	ADDQ(Imm(4), w.p)
	DECQ(rows)
	JNZ(LabelRef(row))
	MOVQ(U32(cacheTile), rows)
	CMPQ(left, rows)
	JGE(LabelRef(tile))
	MOVQ(left, rows)
	TESTQ(rows, rows)
	JNZ(LabelRef(tile))
	each(func(k int, m Mem) { VMOVUPS(w.acc[k], m) })
}

// row adds one row.
func (w *weighting) row(count int) {
	lanes := w.i.width() / 4
	var values []reg.VecVirtual
	var scale reg.VecVirtual
	if w.d == "Q80" {
		scale = w.i.blockScale(at(w.v, 0))
	}
	load := func(k int) reg.VecVirtual {
		x := w.i.vec()
		if w.d == "Q80" {
			loadScaled(at(w.v, 2+k*lanes), scale, x)
		} else {
			loadFloat(w.d, at(w.v, k*lanes*elementBytes[w.d]), x)
		}
		return x
	}
	if w.parts <= 2 {
		for k := range w.parts {
			values = append(values, load(k))
		}
		for r := range count {
			x := w.i.vec()
			VBROADCASTSS(at(w.p, r*spanBytes), x)
			for k, v := range values {
				VFMADD231PS(v, x, w.acc[r*w.parts+k])
			}
		}
		return
	}
	// few registers: the values come one after another
	for k := range w.parts {
		v := load(k)
		for r := range count {
			x := w.i.vec()
			VBROADCASTSS(at(w.p, r*spanBytes), x)
			VFMADD231PS(v, x, w.acc[r*w.parts+k])
		}
	}
}
