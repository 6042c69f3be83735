package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// scalar broadcasts a float32 parameter.
func scalar(name string) reg.VecVirtual {
	y := YMM()
	c, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	VBROADCASTSS(c.Addr, y)
	return y
}

// each makes a loop over n values, a multiple of 8, of some arrays.
func each(n reg.GPVirtual, arrays []reg.GPVirtual, body func()) {
	eachOf(8, n, arrays, body)
}

func eachOf(lanes int, n reg.GPVirtual, arrays []reg.GPVirtual, body func()) {
	loop := label("loop")
	Label(loop)
	body()
	for _, a := range arrays {
		ADDQ(Imm(uint64(4*lanes)), a)
	}
	SUBQ(Imm(uint64(lanes)), n)
	JNZ(LabelRef(loop))
	ret()
}

func load(base reg.Register, disp int) reg.VecVirtual {
	y := YMM()
	VMOVUPS(at(base, disp), y)
	return y
}

func elementwise() {
	text("addScaledAVX2", "func(dst, a, b *float32, n int, scale float32)")
	Doc("addScaledAVX2 does addScaledGeneric for a multiple of 8.")
	dst, a, b, n := arg("dst"), arg("a"), arg("b"), arg("n")
	s := scalar("scale")
	each(n, []reg.GPVirtual{dst, a, b}, func() {
		y := YMM()
		VMULPS(at(b, 0), s, y)
		VADDPS(at(a, 0), y, y)
		VMOVUPS(y, at(dst, 0))
	})

	text("mulAVX2", "func(dst, a, b *float32, n int)")
	Doc("mulAVX2 does mulGeneric for a multiple of 8.")
	dst, a, b, n = arg("dst"), arg("a"), arg("b"), arg("n")
	each(n, []reg.GPVirtual{dst, a, b}, func() {
		y := load(a, 0)
		VMULPS(at(b, 0), y, y)
		VMOVUPS(y, at(dst, 0))
	})

	text("scaleByAVX2", "func(dst *float32, n int, s float32)")
	Doc("scaleByAVX2 does scaleByGeneric for a multiple of 8.")
	dst, n = arg("dst"), arg("n")
	s = scalar("s")
	each(n, []reg.GPVirtual{dst}, func() {
		y := YMM()
		VMULPS(at(dst, 0), s, y)
		VMOVUPS(y, at(dst, 0))
	})

	text("ropeHalvesAVX2", "func(a, b, cos, sin *float32, n int)")
	Doc("ropeHalvesAVX2 does ropeHalvesGeneric for a multiple of 8.")
	a, b, n = arg("a"), arg("b"), arg("n")
	cos, sin := arg("cos"), arg("sin")
	each(n, []reg.GPVirtual{a, b, cos, sin}, func() {
		p, q, c, s, t, u := load(a, 0), load(b, 0), load(cos, 0), load(sin, 0), YMM(), YMM()
		VMULPS(c, p, t)
		VMULPS(s, q, u)
		VSUBPS(u, t, t)
		VMOVUPS(t, at(a, 0))
		VMULPS(c, q, q)
		VMULPS(s, p, p)
		VADDPS(p, q, q)
		VMOVUPS(q, at(b, 0))
	})

	text("ropeInterleavedAVX2", "func(x, cos, sin *float32, n int)")
	Doc("ropeInterleavedAVX2 does ropeInterleavedGeneric for n pairs, a multiple of 4.")
	x, n := arg("x"), arg("n")
	cos, sin = arg("cos"), arg("sin")
	loop := label("loop")
	Label(loop)
	c, sn, v, w := YMM(), YMM(), load(x, 0), YMM()
	VPMOVZXDQ(at(cos, 0), c)
	VMOVSLDUP(c, c)
	VPMOVZXDQ(at(sin, 0), sn)
	VMOVSLDUP(sn, sn)
	VPERMILPS(Imm(0xb1), v, w)
	VMULPS(c, v, v)
	VMULPS(sn, w, w)
	VADDSUBPS(w, v, v)
	VMOVUPS(v, at(x, 0))
	ADDQ(Imm(32), x)
	ADDQ(Imm(16), cos)
	ADDQ(Imm(16), sin)
	SUBQ(Imm(4), n)
	JNZ(LabelRef(loop))
	ret()

	halves()
}

func halves() {
	for _, i := range []isa{avx2, avx512} {
		for _, d := range []string{"F16", "BF16"} {
			text("load"+d+string(i), "func(dst *float32, src *byte, n int)")
			Doc(fmt.Sprintf("load%s%s widens a multiple of %d values.", d, i, i.width()/4))
			dst, src, n := arg("dst"), arg("src"), arg("n")
			eachOf(i.width()/4, n, []reg.GPVirtual{dst}, func() {
				v := i.vec()
				loadFloat(d, at(src, 0), v)
				VMOVUPS(v, at(dst, 0))
				ADDQ(Imm(uint64(i.width()/2)), src)
			})
		}
	}
	text("loadQ80AVX2", "func(dst *float32, src *byte, blocks int)")
	Doc("loadQ80AVX2 dequantizes blocks of Q8_0.")
	dst, src, n := arg("dst"), arg("src"), arg("blocks")
	loop := label("loop")
	Label(loop)
	d := YMM()
	VPBROADCASTW(at(src, 0), d.AsX())
	VCVTPH2PS(d.AsX(), d)
	for k := range 4 {
		y := YMM()
		VPMOVSXBD(at(src, 2+8*k), y)
		VCVTDQ2PS(y, y)
		VMULPS(d, y, y)
		VMOVUPS(y, at(dst, 32*k))
	}
	ADDQ(Imm(34), src)
	ADDQ(U32(128), dst)
	DECQ(n)
	JNZ(LabelRef(loop))
	ret()

	text("storeF16AVX2", "func(dst *byte, src *float32, n int)")
	Doc("storeF16AVX2 does storeF16Generic for a multiple of 8.")
	dst, src, n = arg("dst"), arg("src"), arg("n")
	each(n, []reg.GPVirtual{src}, func() {
		y := load(src, 0)
		VCVTPS2PH(Imm(0), y, at(dst, 0))
		ADDQ(Imm(16), dst)
	})
}

// storeBF16 makes the rounding of floats to their upper halves.
func storeBF16() {
	text("storeBF16AVX2", "func(dst *byte, src *float32, n int)")
	Doc("storeBF16AVX2 does storeBF16Generic for a multiple of 8.")
	dst, src, n := arg("dst"), arg("src"), arg("n")
	constant := func(name string, v uint32) reg.VecVirtual {
		y := YMM()
		VPBROADCASTD(table(name, v), y)
		return y
	}
	one, half, quiet := constant("bf16one", 1), constant("bf16half", 0x7fff), constant("bf16quiet", 0x40)
	each(n, []reg.GPVirtual{src}, func() {
		x, cut, up, nan := load(src, 0), YMM(), YMM(), YMM()
		VPSRLD(Imm(16), x, cut)
		VPAND(one, cut, up)
		VPADDD(x, up, up)
		VPADDD(half, up, up)
		VPSRLD(Imm(16), up, up)
		VCMPPS(Imm(3), x, x, nan)
		VPOR(quiet, cut, cut)
		VPBLENDVB(nan, cut, up, up)
		VPACKUSDW(up, up, up)
		VPERMQ(Imm(8), up, up)
		VMOVDQU(up.AsX(), at(dst, 0))
		ADDQ(Imm(16), dst)
	})
}

func norms() {
	text("sumLanesAVX2", "func(acc *float64, x *float32, n int)")
	Doc("sumLanesAVX2 does sumLanesGeneric for a multiple of 16.")
	sums(func(v reg.VecVirtual) {})
	text("sumSquaresLanesAVX2", "func(acc *float64, x *float32, n int, mean float64)")
	Doc("sumSquaresLanesAVX2 does sumSquaresLanesGeneric for a multiple of 16.")
	mean := YMM()
	c, err := Param("mean").Resolve()
	if err != nil {
		panic(err)
	}
	VBROADCASTSD(c.Addr, mean)
	sums(func(v reg.VecVirtual) {
		VSUBPD(mean, v, v)
		VMULPD(v, v, v)
	})

	text("normalizeAVX2", "func(dst, src, weight, bias *float32, n int, mean, inv, offset float32)")
	Doc("normalizeAVX2 does normalizeGeneric for a multiple of 8.")
	dst, src, weight, bias, n := arg("dst"), arg("src"), arg("weight"), arg("bias"), arg("n")
	m, inv, offset := scalar("mean"), scalar("inv"), scalar("offset")
	loop, plain, unbiased := label("loop"), label("plain"), label("unbiased")
	Label(loop)
	y := load(src, 0)
	VSUBPS(m, y, y)
	VMULPS(inv, y, y)
	TESTQ(weight, weight)
	JZ(LabelRef(plain))
	w := YMM()
	VADDPS(at(weight, 0), offset, w)
	VMULPS(w, y, y)
	ADDQ(Imm(32), weight)
	Label(plain)
	TESTQ(bias, bias)
	JZ(LabelRef(unbiased))
	VADDPS(at(bias, 0), y, y)
	ADDQ(Imm(32), bias)
	Label(unbiased)
	VMOVUPS(y, at(dst, 0))
	ADDQ(Imm(32), src)
	ADDQ(Imm(32), dst)
	SUBQ(Imm(8), n)
	JNZ(LabelRef(loop))
	ret()
}

func sums(f func(v reg.VecVirtual)) {
	acc, x, n := arg("acc"), arg("x"), arg("n")
	a := avx2.vecs(4)
	for k := range a {
		VMOVUPD(at(acc, 32*k), a[k])
	}
	loop := label("loop")
	Label(loop)
	for k := range a {
		v := YMM()
		VCVTPS2PD(at(x, 16*k), v)
		f(v)
		VADDPD(v, a[k], a[k])
	}
	ADDQ(Imm(64), x)
	SUBQ(Imm(16), n)
	JNZ(LabelRef(loop))
	for k := range a {
		VMOVUPD(a[k], at(acc, 32*k))
	}
	ret()
}

// roof makes the probes of the rooflines.
func roof() {
	text("readAVX2", "func(b *byte, n int)")
	Doc("readAVX2 reads a multiple of 256 bytes.")
	b, n := arg("b"), arg("n")
	loop := label("loop")
	Label(loop)
	for k := range 8 {
		if k%2 == 0 {
			PREFETCHT0(at(b, prefetchAhead+32*k))
		}
		VMOVDQU(at(b, 32*k), YMM())
	}
	ADDQ(U32(256), b)
	SUBQ(U32(256), n)
	JNZ(LabelRef(loop))
	ret()

	for _, i := range []isa{avx2, avx512} {
		text("fma"+string(i), "func(steps int)")
		Doc("fma" + string(i) + " does steps times 12 multiply-adds of whole vectors.")
		chains(i, 12, func(x, _, sum reg.VecVirtual) { VFMADD231PS(x, x, sum) })
	}
	text("dotAVX2", "func(steps int)")
	Doc("dotAVX2 does steps times 6 times 32 multiply-adds of bytes.")
	chains(avx2, 6, func(x, t, sum reg.VecVirtual) {
		VPMADDUBSW(x, x, t)
		VPMADDWD(x, t, t)
		VPADDD(t, sum, sum)
	})
	text("dotAVX512", "func(steps int)")
	Doc("dotAVX512 does steps times 12 times 64 multiply-adds of bytes.")
	chains(avx512, 12, func(x, _, sum reg.VecVirtual) { VPDPBUSD(x, x, sum) })
}

// chains makes a loop over n sums that do not wait for each other: x is zero,
// t is free.
func chains(i isa, n int, step func(x, t, sum reg.VecVirtual)) {
	steps := arg("steps")
	sums, x, t := i.vecs(n), i.vec(), i.vecs(2)
	i.zero(append(sums, x)...)
	loop := label("loop")
	Label(loop)
	for k, v := range sums {
		step(x, t[k%2], v)
	}
	DECQ(steps)
	JNZ(LabelRef(loop))
	ret()
}
