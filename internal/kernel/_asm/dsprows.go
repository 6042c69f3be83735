package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Kernels of package dsp.
func dspFunctions(i isa) {
	dspRows(i)
	dspSums(i)
	dspWindows(i)
	if i == avx2 {
		biquadRow()
	}
	biquadForward(i)
	biquadBackward(i)
	biquadGradients(i)
	biquadFlush(i)
}

// dspRows are element by element, over a multiple of 16 frames.
func dspRows(i isa) {
	ld := func(r reg.GPVirtual, disp int) reg.VecVirtual { return i.loadPS(at(r, disp)) }
	i.pass("scale", "writes s·x.", "dst, x *float32, n int, s float32", []string{"dst", "x"}, []string{"s"}, func(r []reg.GPVirtual, c []reg.VecVirtual, d int) {
		VMOVUPS(i.mul(ld(r[1], d), c[0]), at(r[0], d))
	})
	i.pass("mul", "writes a·b.", "dst, a, b *float32, n int", []string{"dst", "a", "b"}, nil, func(r []reg.GPVirtual, _ []reg.VecVirtual, d int) {
		v := ld(r[1], d)
		VMULPS(at(r[2], d), v, v)
		VMOVUPS(v, at(r[0], d))
	})
	i.pass("add", "writes a+b.", "dst, a, b *float32, n int", []string{"dst", "a", "b"}, nil, func(r []reg.GPVirtual, _ []reg.VecVirtual, d int) {
		v := ld(r[1], d)
		VADDPS(at(r[2], d), v, v)
		VMOVUPS(v, at(r[0], d))
	})
	i.pass("addScaled", "adds s·x to dst.", "dst, x *float32, n int, s float32", []string{"dst", "x"}, []string{"s"}, func(r []reg.GPVirtual, c []reg.VecVirtual, d int) {
		v := ld(r[0], d)
		VFMADD231PS(at(r[1], d), c[0], v)
		VMOVUPS(v, at(r[0], d))
	})
	i.pass("addMul", "adds a·b to dst.", "dst, a, b *float32, n int", []string{"dst", "a", "b"}, nil, func(r []reg.GPVirtual, _ []reg.VecVirtual, d int) {
		v := ld(r[0], d)
		VFMADD231PS(at(r[2], d), ld(r[1], d), v)
		VMOVUPS(v, at(r[0], d))
	})
}

// dspSums are over a multiple of 16 frames.
func dspSums(i isa) {
	descending(i, "addDot", "acc *float64, a, b *float32, n int", []string{"a", "b"}, func(r []reg.GPVirtual, d int, acc reg.VecVirtual) {
		VFMADD231PD(i.widen(at(r[0], d)), i.widen(at(r[1], d)), acc)
	})
	descending(i, "addSum", "acc *float64, x *float32, n int", []string{"x"}, func(r []reg.GPVirtual, d int, acc reg.VecVirtual) {
		VADDPD(i.widen(at(r[0], d)), acc, acc)
	})
	lanes(i, "dotLanes", "adds a·b to 16 lanes.", "acc, a, b *float32, n int", []string{"a", "b"}, 1, func(r []reg.GPVirtual, acc []reg.VecVirtual, d int) {
		for k, v := range acc {
			VFMADD231PS(at(r[1], d+k*i.width()), i.loadPS(at(r[0], d+k*i.width())), v)
		}
	})
	lanes(i, "peakLanes", "raises 16 lanes to |x|.", "acc, x *float32, n int", []string{"x"}, 1, func(r []reg.GPVirtual, acc []reg.VecVirtual, d int) {
		for k, v := range acc {
			x, mask := i.vec(), i.bits("magnitude", 0x7fffffff)
			i.and(at(r[0], d+k*i.width()), mask, x)
			VMAXPS(v, x, v) // of a number and NaN the second operand, v
		}
	})
	lanes(i, "exponentLanes", "raises 16 lanes to the exponents of x.", "acc *uint32, x *float32, n int", []string{"x"}, 1, func(r []reg.GPVirtual, acc []reg.VecVirtual, d int) {
		for k, v := range acc {
			x, mask := i.vec(), i.bits("exponent", 0x7f800000)
			i.and(at(r[0], d+k*i.width()), mask, x)
			VPMAXUD(x, v, v)
		}
	})
}

func (i isa) and(m Mem, mask, dst reg.VecVirtual) {
	if i == avx512 {
		VPANDD(m, mask, dst)
	} else {
		VPAND(m, mask, dst)
	}
}

// widen loads float32 values as float64.
func (i isa) widen(m Mem) reg.VecVirtual {
	v := i.vec()
	VCVTPS2PD(m, v)
	return v
}

// descending makes a function that goes from the end of arrays to their
// beginning and adds to 16 lanes of float64.
func descending(i isa, name, signature string, arrays []string, body func(r []reg.GPVirtual, disp int, acc reg.VecVirtual)) {
	text(name+string(i), "func("+signature+")")
	Doc(name + string(i) + " adds to 16 lanes, from the last frame to the first.")
	acc, n := arg("acc"), arg("n")
	var regs []reg.GPVirtual
	for _, a := range arrays {
		r := arg(a)
		LEAQ(Mem{Base: r, Index: n, Scale: 4}, r)
		regs = append(regs, r)
	}
	a := i.vecs(2 * i.parts())
	for k, v := range a {
		VMOVUPD(at(acc, k*i.width()), v)
	}
	loop := label("loop")
	Label(loop)
	for _, r := range regs {
		SUBQ(Imm(64), r)
	}
	for k, v := range a {
		body(regs, k*i.width()/2, v)
	}
	SUBQ(Imm(16), n)
	JNZ(LabelRef(loop))
	for k, v := range a {
		VMOVUPD(v, at(acc, k*i.width()))
	}
	ret()
}
