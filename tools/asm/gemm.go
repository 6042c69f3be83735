package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A dots is the state of a product of some tiles, 16 weight rows packed column
// by column, with some activation rows: lane = weight row. Sums stay in
// registers for all columns of a call; every weight is loaded once for all
// rows, and every activation is broadcast once for all tiles.
type dots struct {
	i     isa
	d     string
	tiles int
	rows  int
	w, x  rowBases // tiles, activation rows
	n     reg.GPVirtual
	acc   []reg.VecVirtual // [rows][tiles][parts]
}

// dotsAhead is the prefetch distance in each tile, in bytes.
const dotsAhead = 2048

// mostRows returns the largest number of activation rows of a product: the sums
// must fit in registers beside weights and an activation.
func mostRows(i isa, tiles int) int {
	switch {
	case i == avx2:
		return 6 / tiles
	case tiles == 4:
		return 2
	}
	return 12
}

// forRows chooses among bodies by the argument rows, 1 to most; the one for most
// comes first.
func forRows(most int, body func(rows int)) {
	rows := arg("rows")
	bodies := make([]string, most)
	for r := 1; r < most; r++ {
		bodies[r] = label("rows")
		CMPQ(rows, Imm(uint64(r)))
		JE(LabelRef(bodies[r]))
	}
	body(most)
	for r := 1; r < most; r++ {
		Label(bodies[r])
		body(r)
	}
}

// floatDots makes a product of tiles with 1 to most activation rows, each
// number with a body of its own.
func floatDots(i isa, d string, tiles, most int) {
	name := fmt.Sprintf("dots%sx%d%s", d, tiles, i)
	text(name, "func(dst *float32, dstStride int, w *byte, wStride int, x *float32, xStride, n, rows int)")
	Doc(fmt.Sprintf("%s adds the products of n columns of packed tiles, %d of them, with 1 to %d activation rows to dst; strides are in bytes.", name, tiles, most))
	forRows(most, func(r int) { (&dots{i: i, d: d, tiles: tiles, rows: r}).body() })
}

func (g *dots) body() {
	g.w.first, g.x.first, g.n = arg("w"), arg("x"), arg("n")
	if g.tiles > 1 {
		g.w.stride = arg("wStride")
	}
	if g.rows > 1 {
		g.x.stride = arg("xStride")
	}
	g.w.begin(g.tiles)
	g.x.begin(g.rows)
	g.acc = g.i.vecs(g.rows * g.tiles * g.i.parts())
	g.i.zero(g.acc...)
	unroll := 2
	if g.rows*g.tiles <= 4 {
		unroll = 4
	}
	loop, tail, one, done := label("loop"), label("tail"), label("one"), label("done")
	SUBQ(Imm(uint64(unroll)), g.n)
	JL(LabelRef(tail))
	Label(loop)
	if g.d != "F32" || g.rows <= 8 { // more rows are mostly for weights in L2
		for s := range g.tiles {
			for k := 0; k < unroll*16*elementBytes[g.d]; k += 64 {
				PREFETCHT0(g.w.at(s, dotsAhead+k))
			}
		}
	}
	g.columns(unroll)
	SUBQ(Imm(uint64(unroll)), g.n)
	JGE(LabelRef(loop))
	Label(tail)
	ADDQ(Imm(uint64(unroll)), g.n)
	JZ(LabelRef(done))
	Label(one)
	g.columns(1)
	DECQ(g.n)
	JNZ(LabelRef(one))
	Label(done)
	dst := arg("dst")
	each := g.tiles * g.i.parts()
	for r := range g.rows {
		for k, a := range g.acc[r*each : (r+1)*each] {
			VADDPS(at(dst, k*g.i.width()), a, a)
			VMOVUPS(a, at(dst, k*g.i.width()))
		}
		if r+1 < g.rows {
			ADDQ(NewParamAddr("dstStride", 8), dst)
		}
	}
	ret()
}

// columns adds the next columns.
func (g *dots) columns(count int) {
	parts, bytes := g.i.parts(), elementBytes[g.d]*16
	each := g.tiles * parts
	for c := range count {
		weight := func(k int) Mem { return g.w.at(k/parts, c*bytes+k%parts*bytes/parts) }
		inPlace := g.d == "F32" && g.rows == 1
		late := g.i == avx2 && g.rows == 1 // 16 registers cannot also hold the weights of 4 tiles
		var w []reg.VecVirtual
		for k := 0; k < each && !inPlace; k++ {
			w = append(w, g.i.vec())
			if !late {
				loadFloat(g.d, weight(k), w[k])
			}
		}
		for r := range g.rows {
			x := g.i.vec()
			VBROADCASTSS(g.x.at(r, 4*c), x)
			for k, a := range g.acc[r*each : (r+1)*each] {
				switch {
				case inPlace:
					VFMADD231PS(weight(k), x, a)
					continue
				case late:
					loadFloat(g.d, weight(k), w[k])
				}
				VFMADD231PS(w[k], x, a)
			}
		}
	}
	g.w.add(uint32(count * bytes))
	g.x.add(uint32(count * 4))
}

// packFloats makes the transposition of 16 rows of elements of 2 or 4 bytes.
// Both sets use it: shuffles of 256 bits have two ports, of 512 bits one. Rows
// may be a power of two apart, and caches hold fewer than 16 such lines, so
// whole cache lines are copied first.
func packFloats(bytes int) {
	name := fmt.Sprintf("pack%dAVX2", 8*bytes)
	TEXT(name, 0, "func(dst, src *byte, stride, n int)") // too large a frame for NOSPLIT
	Pragma("noescape")
	Doc(fmt.Sprintf("%s packs n columns, a multiple of %d, of 16 rows that are stride bytes apart.", name, 64/bytes))
	rows := rowBases{first: arg("src"), stride: arg("stride")}
	dst, n := arg("dst"), arg("n")
	rows.begin(16)
	lines := AllocLocal(16 * 64)
	noLocalPointers()
	loop := label("loop")
	Label(loop)
	for r := range 16 {
		PREFETCHT1(rows.at(r, packAhead))
		for h := range 2 {
			v := YMM()
			VMOVDQU(rows.at(r, 32*h), v)
			VMOVDQU(v, lines.Offset(64*r+32*h))
		}
	}
	rows.add(64)
	if bytes == 2 {
		for k := range 4 {
			transpose8x8(lines.Offset(16*k), func(c int, v reg.VecVirtual) { VMOVDQU(v, at(dst, 256*k+32*c)) })
		}
	} else {
		for k := range 8 {
			half, cols := k%2, k/2*4
			transpose4x8(lines.Offset(8*64*half+16*(k/2)), func(c int, v reg.VecVirtual) {
				VMOVDQU(v, at(dst, 64*(cols+c)+32*half))
			})
		}
	}
	ADDQ(U32(1024), dst)
	SUBQ(Imm(uint64(64/bytes)), n)
	JNZ(LabelRef(loop))
	ret()
}

// noLocalPointers is NO_LOCAL_POINTERS of funcdata.h, for a function with local memory:
// a read of a mapped file that has shrunk panics here, and the stack may grow then,
// which without it ends the process.
func noLocalPointers() {
	none := Mem{Symbol: Symbol{Name: "no_pointers_stackmap"}, Base: reg.StaticBase}
	Instruction(&ir.Instruction{Opcode: "FUNCDATA", Operands: []Op{Imm(1), none}})
}

// packAhead is the prefetch distance in each of 16 rows, in bytes.
const packAhead = 1024

// twoRows loads 16 bytes of two lines into the halves of a vector.
func twoRows(lines Mem, a, b int) reg.VecVirtual {
	v := YMM()
	VBROADCASTI128(lines.Offset(64*a), v)
	VINSERTI128(Imm(1), lines.Offset(64*b), v, v)
	return v
}

// transpose8x8 gives the columns of 16 rows of 8 words.
func transpose8x8(lines Mem, store func(c int, v reg.VecVirtual)) {
	var a, b [8]reg.VecVirtual
	for r := range a {
		a[r] = twoRows(lines, r, r+8)
	}
	for k := range 4 { // b[2k], b[2k+1]: rows 2k, 2k+1 of columns 0 to 3, 4 to 7
		b[2*k], b[2*k+1] = YMM(), YMM()
		VPUNPCKLWD(a[2*k+1], a[2*k], b[2*k])
		VPUNPCKHWD(a[2*k+1], a[2*k], b[2*k+1])
	}
	for k := range 4 { // a[4h+p]: rows 4h to 4h+3 of columns 2p, 2p+1
		h, e := k/2, k%2
		lo, hi := YMM(), YMM()
		VPUNPCKLDQ(b[4*h+2+e], b[4*h+e], lo)
		VPUNPCKHDQ(b[4*h+2+e], b[4*h+e], hi)
		a[4*h+2*e], a[4*h+2*e+1] = lo, hi
	}
	for p := range 4 {
		lo, hi := YMM(), YMM()
		VPUNPCKLQDQ(a[4+p], a[p], lo)
		VPUNPCKHQDQ(a[4+p], a[p], hi)
		store(2*p, lo)
		store(2*p+1, hi)
	}
}

// transpose4x8 gives the columns of 8 rows of 4 floats.
func transpose4x8(lines Mem, store func(c int, v reg.VecVirtual)) {
	var a, b [4]reg.VecVirtual
	for r := range a {
		a[r] = twoRows(lines, r, r+4)
	}
	for k := range 2 {
		b[2*k], b[2*k+1] = YMM(), YMM()
		VPUNPCKLDQ(a[2*k+1], a[2*k], b[2*k])
		VPUNPCKHDQ(a[2*k+1], a[2*k], b[2*k+1])
	}
	for e := range 2 {
		lo, hi := YMM(), YMM()
		VPUNPCKLQDQ(b[2+e], b[e], lo)
		VPUNPCKHQDQ(b[2+e], b[e], hi)
		store(2*e, lo)
		store(2*e+1, hi)
	}
}
