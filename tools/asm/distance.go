package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Products and distances of one vector and rows that are picked by number, of
// package dense.

// pageShift is the logarithm of dense.PageRows.
const pageShift = 8

// distanceFunctions makes both for four rows at a time, whose chains of
// additions run beside each other. Products are rounded before they are added: a
// fused step takes 8 % less time here, but without assembly it is emulated, and
// searches are two to three times slower.
func distanceFunctions(i isa) {
	distances(i, "dotPages", "writes products of x and rows.", func(x, row reg.VecVirtual, acc reg.VecVirtual) {
		VMULPS(row, x, row)
		VADDPS(row, acc, acc)
	})
	distances(i, "squaresPages", "writes squared distances of x and rows.", func(x, row reg.VecVirtual, acc reg.VecVirtual) {
		VSUBPS(row, x, row)
		VMULPS(row, row, row)
		VADDPS(row, acc, acc)
	})
}

func distances(i isa, name, doc string, step func(x, row, acc reg.VecVirtual)) {
	text(name+string(i), "func(dst, x *float32, pages **float32, ids *uint32, n, d int)")
	Doc(name + string(i) + " " + doc + " d is a multiple of 16.")
	dst, x, pages, ids, n := arg("dst"), arg("x"), arg("pages"), arg("ids"), arg("n")
	size := GP64()
	MOVQ(NewParamAddr("d", 40), size)
	SHLQ(Imm(2), size)
	address := func(to reg.GPVirtual, k int) {
		page := GP64()
		MOVL(at(ids, 4*k), page.As32())
		MOVBLZX(page.As8L(), to.As32())
		SHRQ(Imm(pageShift), page)
		IMULQ(size, to)
		ADDQ(Mem{Base: pages, Index: page, Scale: 8}, to)
	}
	group := func(rows int) {
		loop, first := label("loop"), label("group")
		done := label("done")
		Label(first)
		CMPQ(n, Imm(uint64(rows)))
		JL(LabelRef(done))
		base := make([]reg.GPVirtual, rows)
		acc := make([][]reg.VecVirtual, rows)
		for k := range base {
			base[k] = GP64()
			address(base[k], k)
			acc[k] = i.vecs(i.parts())
			i.zero(acc[k]...)
		}
		off := GP64()
		XORQ(off, off)
		Label(loop)
		for p := range i.parts() {
			xs := i.loadPS(Mem{Base: x, Index: off, Scale: 1, Disp: p * i.width()})
			for k, b := range base {
				row := i.loadPS(Mem{Base: b, Index: off, Scale: 1, Disp: p * i.width()})
				step(xs, row, acc[k][p])
			}
		}
		ADDQ(Imm(64), off)
		CMPQ(off, size)
		JL(LabelRef(loop))
		var q []reg.VecVirtual
		for k := range base {
			q = append(q, quarter(i, acc[k]))
		}
		if rows == 1 {
			VHADDPS(q[0], q[0], q[0])
			VHADDPS(q[0], q[0], q[0])
			VMOVSS(q[0], at(dst, 0))
		} else {
			VHADDPS(q[1], q[0], q[0])
			VHADDPS(q[3], q[2], q[2])
			VHADDPS(q[2], q[0], q[0])
			VMOVUPS(q[0], at(dst, 0))
		}
		ADDQ(Imm(uint64(4*rows)), dst)
		ADDQ(Imm(uint64(4*rows)), ids)
		SUBQ(Imm(uint64(rows)), n)
		JMP(LabelRef(first))
		Label(done)
	}
	group(4)
	group(1)
	ret()
}
