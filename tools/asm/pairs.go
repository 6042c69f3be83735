package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// pairDots makes a product of tiles, whose elements are pairs of BF16, with 1 to 12
// activation rows. It is floatDots with VDPBF16PS in place of the multiply-add.
func pairDots(tiles int) {
	name := fmt.Sprintf("dotsPairsx%dAVX512", tiles)
	text(name, "func(dst *float32, dstStride int, w *byte, wStride int, x *float32, xStride, n, rows int)")
	Doc(fmt.Sprintf("%s adds the products of n pairs of columns of packed tiles, %d of them, with 1 to 12 activation rows to dst; strides are in bytes. It needs AVX512_BF16.", name, tiles))
	forRows(mostRows(avx512, tiles), func(rows int) { pairBody(tiles, rows) })
}

// The registers are fixed, because the assembler does not know VDPBF16PS and words
// are written in its place.
var (
	pairSums    = []reg.VecPhysical{reg.Z0, reg.Z1, reg.Z2, reg.Z3, reg.Z4, reg.Z5, reg.Z6, reg.Z7, reg.Z8, reg.Z9, reg.Z10, reg.Z11, reg.Z12, reg.Z13, reg.Z14, reg.Z15, reg.Z16, reg.Z17, reg.Z18, reg.Z19, reg.Z20, reg.Z21, reg.Z22, reg.Z23}
	pairWeights = []reg.VecPhysical{reg.Z24, reg.Z25, reg.Z26, reg.Z27}
	pairRows    = []reg.VecPhysical{reg.Z28, reg.Z29, reg.Z30, reg.Z31}
)

func pairBody(tiles, rows int) {
	w, x, n := rowBases{first: arg("w")}, rowBases{first: arg("x")}, arg("n")
	if tiles > 1 {
		w.stride = arg("wStride")
	}
	if rows > 1 {
		x.stride = arg("xStride")
	}
	w.begin(tiles)
	x.begin(rows)
	for _, z := range pairSums[:tiles*rows] {
		VPXORD(z, z, z)
	}
	columns := func(count int) {
		for c := range count {
			ws := pairWeights[c%2*tiles:][:tiles]
			for t, v := range ws {
				VMOVUPS(w.at(t, 64*c), v)
			}
			for r := range rows {
				v := 28 + r%4
				VBROADCASTSS(x.at(r, 4*c), pairRows[r%4])
				for t := range ws {
					dpbf16(r*tiles+t, 24+c%2*tiles+t, v)
				}
			}
		}
		w.add(uint32(64 * count))
		x.add(uint32(4 * count))
	}
	loop, tail, done := label("loop"), label("tail"), label("done")
	SUBQ(Imm(2), n)
	JL(LabelRef(tail))
	Label(loop)
	columns(2)
	SUBQ(Imm(2), n)
	JGE(LabelRef(loop))
	Label(tail)
	ADDQ(Imm(2), n)
	JZ(LabelRef(done))
	columns(1)
	Label(done)
	dst := arg("dst")
	for r := range rows {
		for t := range tiles {
			z := pairSums[r*tiles+t]
			VADDPS(at(dst, 64*t), z, z)
			VMOVUPS(z, at(dst, 64*t))
		}
		if r+1 < rows {
			ADDQ(NewParamAddr("dstStride", 8), dst)
		}
	}
	ret()
}

// dpbf16 writes VDPBF16PS with registers of 512 bits: sum += w · x, the second of each
// pair first (Intel SDM volume 2, EVEX.512.F3.0F38.W0 52 /r).
func dpbf16(sum, w, x int) {
	bit := func(v, n int) int { return v >> n & 1 }
	p0 := (1-bit(sum, 3))<<7 | (1-bit(x, 4))<<6 | (1-bit(x, 3))<<5 | (1-bit(sum, 4))<<4 | 2
	p1 := ^w&15<<3 | 1<<2 | 2
	p2 := 2<<5 | (1-bit(w, 4))<<3
	for _, b := range []int{0x62, p0, p1, p2, 0x52, 3<<6 | sum&7<<3 | x&7} {
		Instruction(&ir.Instruction{Opcode: "BYTE", Operands: []Op{U8(b)}})
	}
}
