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
	dspTransforms(i)
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
	dot(i)
	most(i, "peak", "returns the largest |x| of a multiple of 16 frames.", "(x *float32, n int) float32", 0x7fffffff, func(a, b reg.VecVirtual) {
		VMAXPS(b, a, b) // of a number and NaN the second operand, b
	})
	most(i, "exponent", "returns the largest exponent of a multiple of 16 frames.", "(x *float32, n int) uint32", 0x7f800000, func(a, b reg.VecVirtual) {
		VPMAXUD(a, b, b)
	})
}

// most makes a function that masks words and returns the largest: keep raises b
// to a.
func most(i isa, name, doc, signature string, mask uint32, keep func(a, b reg.VecVirtual)) {
	text(name+string(i), "func"+signature)
	Doc(name + string(i) + " " + doc)
	x, n := arg("x"), arg("n")
	m, acc := i.bits(name+"Mask", mask), i.vecs(i.parts())
	i.zero(acc...)
	loop := label("loop")
	Label(loop)
	for k, v := range acc {
		word := i.vec()
		i.and(at(x, k*i.width()), m, word)
		keep(word, v)
	}
	ADDQ(Imm(64), x)
	SUBQ(Imm(16), n)
	JNZ(LabelRef(loop))
	y := acc[0].AsY().(reg.VecVirtual)
	high := YMM()
	if i == avx512 {
		VEXTRACTF64X4(Imm(1), acc[0], high)
	} else {
		high = acc[1]
	}
	keep(high, y)
	v := XMM()
	VEXTRACTF128(Imm(1), y, v)
	keep(y.AsX().(reg.VecVirtual), v)
	for _, order := range []uint64{0x4e, 0xb1} { // halves, then neighbours
		other := XMM()
		VPSHUFD(Imm(order), v, other)
		keep(other, v)
	}
	ret1 := GP32()
	VMOVD(v, ret1)
	r, err := ReturnIndex(0).Resolve()
	if err != nil {
		panic(err)
	}
	MOVL(ret1, r.Addr)
	ret()
}

// dot adds in 16 lanes and folds them like kernel.Lanes. Lanes beyond the last
// frame are unchanged.
func dot(i isa) {
	text("dot"+string(i), "func(a, b *float32, n int) float32")
	Doc("dot" + string(i) + " returns a·b.")
	a, b, n := arg("a"), arg("b"), arg("n")
	acc := i.vecs(i.parts())
	i.zero(acc...)
	loop, tail, done := label("loop"), label("tail"), label("done")
	Label(loop)
	SUBQ(Imm(16), n)
	JL(LabelRef(tail))
	for k, v := range acc {
		VFMADD231PS(at(b, k*i.width()), i.loadPS(at(a, k*i.width())), v)
	}
	ADDQ(Imm(64), a)
	ADDQ(Imm(64), b)
	JMP(LabelRef(loop))
	Label(tail)
	ADDQ(Imm(16), n)
	JZ(LabelRef(done))
	if i == avx512 {
		mask, x, k := GP32(), ZMM(), K()
		MOVL(U32(0xffff), mask)
		BZHIL(n.As32(), mask, mask)
		KMOVW(mask, k)
		VMOVUPS_Z(at(a, 0), k, x)
		VFMADD231PS(at(b, 0), x, k, acc[0])
	} else {
		// Words of ones as many as frames are left, then of zeros.
		ones, from := table("leading", append(repeat(16, 0xffffffff), repeat(16, 0)...)...), GP64()
		LEAQ(ones, from)
		SHLQ(Imm(2), n)
		SUBQ(n, from)
		for k, v := range acc {
			m, x, y, sum := YMM(), YMM(), YMM(), YMM()
			VMOVUPS(at(from, 64+k*32), m)
			VMASKMOVPS(at(a, k*32), m, x)
			VMASKMOVPS(at(b, k*32), m, y)
			VMOVAPS(v, sum)
			VFMADD231PS(x, y, sum)
			VBLENDVPS(m, sum, v, v)
		}
	}
	Label(done)
	q := quarter(i, acc)
	VHADDPS(q, q, q)
	VHADDPS(q, q, q)
	Store(q, ReturnIndex(0))
	ret()
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
