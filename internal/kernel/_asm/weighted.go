package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// weightedRows makes the attention sums for F32 and F16 rows: some heads by
// some columns in registers, rows in order.
func weightedRows(i isa) {
	heads, cols := 4, 64
	if i == avx2 {
		heads, cols = 2, 32
	}
	for _, d := range []string{"F32", "F16"} {
		for _, h := range []int{heads, 1} {
			for _, c := range []int{cols, 16} {
				weighted(i, d, h, c)
			}
		}
	}
	for _, h := range []int{heads, 1} {
		weighted(i, "Q80", h, 32)
		if i == avx512 {
			weighted(i, "Q80", h, 64)
		}
	}
}

func weighted(i isa, d string, heads, cols int) {
	name := fmt.Sprintf("weighted%sh%dc%d%s", d, heads, cols, i)
	text(name, "func(dst *float32, dstStride int, p *float32, pStride int, v *byte, vStride, n int)")
	Doc(fmt.Sprintf("%s adds n rows of %d values, weighted, for %d heads; strides are in bytes.", name, cols, heads))
	dst, p, v, vs, n := arg("dst"), arg("p"), arg("v"), arg("vStride"), arg("n")
	bases := func(first reg.GPVirtual, param string) func(h, disp int) Mem {
		if heads == 1 {
			return func(_, disp int) Mem { return at(first, disp) }
		}
		s, third := arg(param), reg.GPVirtual(nil)
		if heads == 4 {
			third = GP64()
			LEAQ(Mem{Base: s, Index: s, Scale: 2}, third)
		}
		return func(h, disp int) Mem {
			switch h {
			case 0:
				return at(first, disp)
			case 3:
				return Mem{Base: first, Index: third, Scale: 1, Disp: disp}
			}
			return Mem{Base: first, Index: s, Scale: uint8(h), Disp: disp}
		}
	}
	dstAt, pAt := bases(dst, "dstStride"), bases(p, "pStride")
	parts := cols * 4 / i.width()
	lanesBytes := i.width() / 4 * elementBytes[d]
	acc := make([]reg.VecVirtual, heads*parts)
	for k := range acc {
		acc[k] = i.vec()
		VMOVUPS(dstAt(k/parts, k%parts*i.width()), acc[k])
	}
	loop := label("loop")
	Label(loop)
	weights := make([]reg.VecVirtual, heads)
	for h := range weights {
		weights[h] = i.vec()
		VBROADCASTSS(pAt(h, 0), weights[h])
	}
	var scale reg.VecVirtual
	for k := range parts {
		x, lanes := i.vec(), i.width()/4
		if d == "Q80" {
			block := k * lanes / 32 * 34
			if k*lanes%32 == 0 {
				scale = i.blockScale(at(v, block))
			}
			loadScaled(at(v, block+2+k*lanes%32), scale, x)
		} else {
			loadFloat(d, at(v, k*lanesBytes), x)
		}
		for h := range weights {
			VFMADD231PS(x, weights[h], acc[h*parts+k])
		}
	}
	ADDQ(Imm(4), p)
	ADDQ(vs, v)
	DECQ(n)
	JNZ(LabelRef(loop))
	for k := range acc {
		VMOVUPS(acc[k], dstAt(k/parts, k%parts*i.width()))
	}
	ret()
}
