package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// quantise makes one xBlock of 256 values.
func quantise() {
	text("quantiseAVX2", "func(dst *byte, src *float32)")
	Doc("quantiseAVX2 does quantiseGeneric.")
	dst, src := arg("dst"), arg("src")
	dp, mp, n := GP64(), GP64(), GP64()
	LEAQ(at(dst, xScales), dp)
	LEAQ(at(dst, xMins), mp)
	MOVQ(U32(8), n)
	abs, full := avx2.bits("absMask", 0x7fffffff), broadcastF(avx2, 127)
	order, words := YMM(), YMM()
	VMOVDQU(table("packOrder", 0, 4, 1, 5, 2, 6, 3, 7), order)
	VBROADCASTSS(table("words1", 0x00010001), words)
	loop := label("loop")
	Label(loop)
	x := avx2.vecs(4)
	top := YMM()
	for k, v := range x {
		VMOVUPS(at(src, 32*k), v)
		if k == 0 {
			VANDPS(abs, v, top)
			continue
		}
		a := YMM()
		VANDPS(abs, v, a)
		VPMAXSD(a, top, top) // magnitudes have no sign bit
	}
	t := YMM()
	VPERM2I128(Imm(1), top, top, t)
	VPMAXSD(t, top, top)
	VPSHUFD(Imm(0x4e), top, t)
	VPMAXSD(t, top, top)
	VPSHUFD(Imm(0xb1), top, t)
	VPMAXSD(t, top, top)
	d, inv, ok, bound := YMM(), YMM(), YMM(), YMM()
	VDIVPS(full, top, d)
	VDIVPS(top, full, inv)
	// ok where 2^-120 ≤ amax < ∞
	VPCMPGTD(avx2.bits("tinyLess1", 7<<23-1), top, ok)
	VBROADCASTSS(table("infinity", 0x7f800000), bound)
	VPCMPGTD(top, bound, bound)
	VPAND(bound, ok, ok)
	VMOVSS(d.AsX(), at(dp, 0))
	for _, v := range x {
		VMULPS(inv, v, v)
		VANDPS(ok, v, v)
		VCVTPS2DQ(v, v)
	}
	VPACKSSDW(x[1], x[0], x[0])
	VPACKSSDW(x[3], x[2], x[2])
	// sums of 16: words of both halves are of the same 16 columns
	for k := range 2 {
		s, hi := YMM(), XMM()
		VPMADDWD(words, x[2*k], s)
		VEXTRACTI128(Imm(1), s, hi)
		VPADDD(hi, s.AsX(), hi)
		VPHADDD(hi, hi, hi)
		VPHADDD(hi, hi, hi)
		VCVTDQ2PS(hi, hi)
		VMULSS(d.AsX(), hi, hi)
		VMOVSS(hi, at(mp, 4*k))
	}
	VPACKSSWB(x[2], x[0], x[0])
	VPERMD(x[0], order, x[0])
	VPXOR(table("flip", repeat(16, 0x80808080)...), x[0], x[0])
	VMOVDQU(x[0], at(dst, 0))
	ADDQ(U32(128), src)
	ADDQ(Imm(32), dst)
	ADDQ(Imm(4), dp)
	ADDQ(Imm(8), mp)
	DECQ(n)
	JNZ(LabelRef(loop))
	ret()
}

// unpackers make wBlocks of whole blocks of 256 columns, and expand one.
func unpackers() {
	for _, f := range formats {
		text("unpack"+f.name+"AVX2", "func(dst *byte, src *byte)")
		Doc("unpack" + f.name + "AVX2 unpacks 256 columns.")
		unpack(f)
		ret()
	}
	text("expandAVX2", "func(dst *float32, w *byte, groups int)")
	Doc("expandAVX2 does expandGeneric for groups of 16 values.")
	dst, q, s, n := arg("dst"), arg("w"), GP64(), arg("groups")
	LEAQ(at(q, wScales), s)
	loop := label("loop")
	Label(loop)
	scale, min := YMM(), YMM()
	VBROADCASTSS(at(s, 0), scale)
	VBROADCASTSS(at(s, wMins-wScales), min)
	for k := range 2 {
		v := YMM()
		VPMOVSXBD(at(q, 8*k), v)
		VCVTDQ2PS(v, v)
		VMULPS(scale, v, v)
		VSUBPS(min, v, v)
		VMOVUPS(v, at(dst, 32*k))
	}
	ADDQ(Imm(64), dst)
	ADDQ(Imm(16), q)
	ADDQ(Imm(4), s)
	DECQ(n)
	JNZ(LabelRef(loop))
	ret()
}

func unpack(f format) {
	dst := arg("dst")
	v := &vecState{intConsts: &intConsts{i: avx2}, w: arg("src")}
	f.begin(v)
	f.header(v)
	scales, mins := v.scales, v.mins
	if !f.per16 {
		scales = v.expand8(scales[0])
	}
	if mins == nil {
		z := YMM()
		avx2.zero(z)
		mins = []reg.VecVirtual{z, z}
	}
	for h := range 2 {
		VMOVUPS(scales[h], at(dst, wScales+32*h))
		VMOVUPS(mins[h], at(dst, wMins+32*h))
	}
	for s := range 4 {
		for h := range 2 {
			VMOVDQU(f.weights(v, s, h), at(dst, 64*s+32*h))
		}
	}
}
