package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// sizes of the portable structures
const (
	tileBytes   = 256
	wBlockBytes = 256 + 64 + 64
	wScales     = 256
	wMins       = 320
	xScales     = 256
	xStarts     = 288
	xMins       = 320
	xStarts16   = 352
	xMins16     = 416
	xBlockBytes = 512

	xCellBytes  = 64
	cellScale   = 32
	cellStart   = 36
	cellMin     = 40
	cellStart16 = 44 // and +4
	cellMin16   = 52 // and +4
)

// How far ahead of the reads memory is asked for: of one row, and of each of
// four rows at once.
const (
	prefetchAhead = 8192
	prefetchTile  = 2048
)

var elementBytes = map[string]int{"F32": 4, "F16": 2, "BF16": 2}

// loadFloat loads one vector of weights as float32.
func loadFloat(d string, m Mem, v reg.VecVirtual) {
	switch d {
	case "F32":
		VMOVUPS(m, v)
	case "F16":
		VCVTPH2PS(m, v)
	case "BF16":
		VPMOVZXWD(m, v)
		VPSLLD(Imm(16), v, v)
	}
}

// A floatTile is the state of four weight rows by some activation rows.
type floatTile struct {
	i         isa
	d         string
	rows      int
	w         [4]reg.GPVirtual
	x, stride reg.GPVirtual // activations and the bytes between their rows
	x3        reg.GPVirtual // the fourth
	acc       []reg.VecVirtual
}

// xAt addresses an activation row.
func (t *floatTile) xAt(r, disp int) Mem {
	switch r {
	case 0:
		return at(t.x, disp)
	case 3:
		return at(t.x3, disp)
	}
	return Mem{Base: t.x, Index: t.stride, Scale: uint8(r), Disp: disp}
}

// begin takes the activations' address and stride.
func (t *floatTile) begin(x, stride reg.GPVirtual) {
	t.x, t.stride = x, stride
	if t.rows > 1 {
		t.x3 = GP64()
		LEAQ(Mem{Base: x, Index: stride, Scale: 2}, t.x3)
		ADDQ(stride, t.x3)
	}
	t.acc = t.i.vecs(t.rows * 4 * t.i.parts()) // [rows][4][parts]
}

// loop adds n columns, a multiple of 16.
func (t *floatTile) loop(n reg.GPVirtual, prefetch bool) {
	cols, step := 16, 16*elementBytes[t.d]
	loop, done := label("loop"), label("done")
	Label(loop)
	CMPQ(n, Imm(uint64(cols)))
	JL(LabelRef(done))
	if prefetch {
		for j := range t.w {
			PREFETCHT0(at(t.w[j], prefetchTile))
		}
	}
	t.columns(step)
	for j := range t.w {
		ADDQ(Imm(uint64(step)), t.w[j])
	}
	ADDQ(U32(uint32(4*cols)), t.x)
	if t.rows > 1 {
		ADDQ(U32(uint32(4*cols)), t.x3)
	}
	SUBQ(Imm(uint64(cols)), n)
	JMP(LabelRef(loop))
	Label(done)
}

// columns adds 16 columns of plain floats.
func (t *floatTile) columns(step int) {
	p := t.i.parts()
	for part := range p {
		xs := t.i.vecs(t.rows)
		for r := range xs {
			VMOVUPS(t.xAt(r, part*t.i.width()), xs[r])
		}
		for j := range t.w {
			m := at(t.w[j], part*step/p)
			if t.d == "F32" && t.rows == 1 {
				VFMADD231PS(m, xs[0], t.acc[j*p+part])
				continue
			}
			v := t.i.vec()
			loadFloat(t.d, m, v)
			for r := range xs {
				VFMADD231PS(v, xs[r], t.acc[(r*4+j)*p+part])
			}
		}
	}
}

// tileFloat adds products of n columns, a multiple of 16, of four weight rows
// with some activation rows, xStride bytes apart.
func tileFloat(i isa, d string, rows int) {
	text(fmt.Sprintf("tile%sx%d%s", d, rows, i), "func(acc *float32, w *[4][]byte, x *float32, xStride, n int)")
	Doc(fmt.Sprintf("tile%sx%d%s does tileFloatGeneric for %d activation rows.", d, rows, i, rows))
	t := &floatTile{i: i, d: d, rows: rows}
	acc, ws, n := arg("acc"), arg("w"), arg("n")
	for j := range t.w {
		t.w[j] = GP64()
		MOVQ(at(ws, 24*j), t.w[j])
	}
	t.begin(arg("x"), arg("xStride"))
	for k := range t.acc {
		VMOVUPS(at(acc, k*i.width()), t.acc[k])
	}
	t.loop(n, rows == 1)
	for k := range t.acc {
		VMOVUPS(t.acc[k], at(acc, k*i.width()))
	}
	ret()
}

// fold4 folds and stores four sums that are quarters.
func fold4(x [4]reg.VecVirtual, scale reg.VecVirtual, out reg.GPVirtual) {
	VHADDPS(x[1], x[0], x[0])
	VHADDPS(x[3], x[2], x[2])
	VHADDPS(x[2], x[0], x[0])
	VMULPS(scale, x[0], x[0])
	VMOVUPS(x[0], at(out, 0))
}

// fold writes the sums of four weight rows of each tile, times scale.
func fold() {
	text("foldAVX2", "func(acc *float32, dst *float32, dstStride, rows int, scale float32)")
	Doc("foldAVX2 writes four sums for each tile, dstStride bytes apart.")
	acc, dst, stride, rows := arg("acc"), arg("dst"), arg("dstStride"), arg("rows")
	scale := XMM()
	VBROADCASTSS(NewParamAddr("scale", 32), scale)
	loop := label("loop")
	Label(loop)
	var x [4]reg.VecVirtual
	for j := range x {
		lo, hi := YMM(), YMM()
		VMOVUPS(at(acc, 64*j), lo)
		VMOVUPS(at(acc, 64*j+32), hi)
		x[j] = quarter(avx2, []reg.VecVirtual{lo, hi})
	}
	fold4(x, scale, dst)
	ADDQ(U32(tileBytes), acc)
	ADDQ(stride, dst)
	DECQ(rows)
	JNZ(LabelRef(loop))
	ret()
}
