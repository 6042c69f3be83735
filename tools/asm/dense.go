package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// denseFunctions are those of package dense.
func denseFunctions(i isa) {
	densePasses(i)
	tiles := []int{1}
	if i == avx512 {
		tiles = []int{1, 2}
	}
	for _, t := range tiles {
		for _, byColumns := range []bool{false, true} {
			tileSums(i, t, byColumns)
		}
	}
	if i == avx2 {
		packFloats(4)
		copyColumns(16)
		copyColumns(12)
		prefetchRows()
	}
}

// A tileSum is the state of a product of one or two tiles of 16 columns with
// some rows of x: lane = column. Strides are registers, so that tiles may be
// packed or part of a matrix.
type tileSum struct {
	i         isa
	tiles     int
	rows      int
	byColumns bool // x[r, p] lies at r·4 + p·xStride, else at r·xStride + p·4
	w, x      rowBases
	wStep, n  reg.GPVirtual
	acc       []reg.VecVirtual // [rows][tiles][parts]
}

// tileSums makes a product with 1 to 12 rows, or 6 with AVX2, each number with
// a body of its own.
func tileSums(i isa, tiles int, byColumns bool) {
	name, most := fmt.Sprintf("rowsx%d%s", tiles, i), 12
	if byColumns {
		name = fmt.Sprintf("columnsx%d%s", tiles, i)
	}
	if i == avx2 {
		most = 6
	}
	text(name, "func(dst, old *float32, dstStride, oldStride int, w *float32, wTile, wStep int, x *float32, xStride, n, rows int)")
	Doc(fmt.Sprintf("%s writes to dst the products of 1 to %d rows with %d tiles, added to old; strides are in bytes.", name, most, tiles))
	forRows(most, func(r int) { (&tileSum{i: i, tiles: tiles, rows: r, byColumns: byColumns}).body() })
}

func (g *tileSum) body() {
	g.w.first, g.wStep, g.x.first, g.n = arg("w"), arg("wStep"), arg("x"), arg("n")
	if g.tiles > 1 {
		g.w.stride = arg("wTile")
		g.w.begin(1)
	} else {
		g.w.every4 = []reg.GPVirtual{g.w.first}
	}
	if g.rows > 1 || g.byColumns {
		g.x.stride = arg("xStride")
	}
	if !g.byColumns {
		g.x.begin(g.rows)
	}
	// The destination is loaded from memory meanwhile.
	old, oldStride := arg("old"), arg("oldStride")
	for r := range g.rows {
		PREFETCHT0(at(old, 0))
		PREFETCHT0(at(old, 64*g.tiles-4))
		if r+1 < g.rows {
			ADDQ(oldStride, old)
		}
	}
	each := g.tiles * g.i.parts()
	g.acc = g.i.vecs(g.rows * each)
	g.i.zero(g.acc...)
	loop, one, done, tail := label("loop"), label("one"), label("done"), label("tail")
	SUBQ(Imm(2), g.n)
	JL(LabelRef(tail))
	Label(loop)
	g.columns(2)
	SUBQ(Imm(2), g.n)
	JGE(LabelRef(loop))
	Label(tail)
	ADDQ(Imm(2), g.n)
	JZ(LabelRef(done))
	Label(one)
	g.columns(1)
	Label(done)
	dst, old, dstStride, oldStride := arg("dst"), arg("old"), arg("dstStride"), arg("oldStride")
	for r := range g.rows {
		for k, a := range g.acc[r*each : (r+1)*each] {
			VADDPS(at(old, k*g.i.width()), a, a)
			VMOVUPS(a, at(dst, k*g.i.width()))
		}
		if r+1 < g.rows {
			ADDQ(dstStride, dst)
			ADDQ(oldStride, old)
		}
	}
	ret()
}

// columns adds the next columns.
func (g *tileSum) columns(count int) {
	parts := g.i.parts()
	each := g.tiles * parts
	for c := range count {
		w := g.i.vecs(each)
		for k, v := range w {
			VMOVUPS(g.w.at(k/parts, k%parts*g.i.width()), v)
		}
		ADDQ(g.wStep, g.w.first)
		for r := range g.rows {
			x := g.i.vec()
			if g.byColumns {
				VBROADCASTSS(at(g.x.first, 4*r), x)
			} else {
				VBROADCASTSS(g.x.at(r, 4*c), x)
			}
			for k, a := range g.acc[r*each : (r+1)*each] {
				VFMADD231PS(w[k], x, a)
			}
		}
		if g.byColumns {
			ADDQ(g.x.stride, g.x.first)
		}
	}
	if !g.byColumns {
		g.x.add(uint32(count * 4))
	}
}

// copyColumns copies groups of columns.
func copyColumns(width int) {
	name := fmt.Sprintf("copy%dAVX2", width)
	text(name, "func(dst, src *float32, group, stride, groups, n int)")
	Doc(fmt.Sprintf("%s lays groups of %d columns of n rows, stride bytes apart, row behind row, groups group bytes apart.", name, width))
	dst, src, group, stride, n := arg("dst"), arg("src"), arg("group"), arg("stride"), arg("n")
	row, one := label("row"), label("group")
	from, to, left := GP64(), GP64(), GP64()
	Label(row)
	MOVQ(src, from)
	MOVQ(dst, to)
	MOVQ(NewParamAddr("groups", 32), left)
	Label(one)
	a := YMM()
	VMOVUPS(at(from, 0), a)
	VMOVUPS(a, at(to, 0))
	var b reg.VecVirtual = YMM()
	if width == 12 {
		b = XMM()
	}
	VMOVUPS(at(from, 32), b)
	VMOVUPS(b, at(to, 32))
	ADDQ(U32(uint32(4*width)), from)
	ADDQ(group, to)
	DECQ(left)
	JNZ(LabelRef(one))
	ADDQ(stride, src)
	ADDQ(U32(uint32(4*width)), dst)
	DECQ(n)
	JNZ(LabelRef(row))
	ret()
}

// prefetchRows makes the request for rows that are packed next.
func prefetchRows() {
	text("prefetchRowsAVX2", "func(src *float32, lines, stride, n int)")
	Doc("prefetchRowsAVX2 asks for so many cache lines of each of n rows, stride bytes apart.")
	src, lines, stride, n := arg("src"), arg("lines"), arg("stride"), arg("n")
	row, one := label("row"), label("line")
	at0, left := GP64(), GP64()
	Label(row)
	MOVQ(src, at0)
	MOVQ(lines, left)
	Label(one)
	PREFETCHT1(at(at0, 0))
	ADDQ(Imm(64), at0)
	DECQ(left)
	JNZ(LabelRef(one))
	ADDQ(stride, src)
	DECQ(n)
	JNZ(LabelRef(row))
	RET()
}
