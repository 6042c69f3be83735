package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// quantize makes one xBlock of 256 values.
func quantize() {
	text("quantizeAVX2", "func(dst, cells *byte, stride int, src *float32)")
	Doc("quantizeAVX2 does quantizeGeneric.")
	dst, src, cells, stride := arg("dst"), arg("src"), arg("cells"), arg("stride")
	dp, n := GP64(), GP64()
	LEAQ(at(dst, xScales), dp)
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
	VMOVSS(d.AsX(), at(cells, cellScale))
	for _, v := range x {
		VMULPS(inv, v, v)
		VANDPS(ok, v, v)
		VCVTPS2DQ(v, v)
	}
	VPACKSSDW(x[1], x[0], x[0])
	VPACKSSDW(x[3], x[2], x[2])
	// sums of 16: words of both halves are of the same 16 columns
	sums := [2]reg.VecVirtual{XMM(), XMM()}
	for k, hi := range sums {
		s := YMM()
		VPMADDWD(words, x[2*k], s)
		VEXTRACTI128(Imm(1), s, hi)
		VPADDD(hi, s.AsX(), hi)
	}
	pair, both, start, scaled := XMM(), XMM(), XMM(), XMM()
	VPHADDD(sums[1], sums[0], pair)
	VPHADDD(pair, pair, pair) // of the first 16, of the second, and again
	VPHADDD(pair, pair, both)
	VPBLENDD(Imm(0b0100), both, pair, pair)
	VPXOR(start, start, start)
	VPSUBD(pair, start, start)
	VPSLLD(Imm(7), start, start)
	VCVTDQ2PS(pair, scaled)
	VBROADCASTSS(d.AsX(), d.AsX())
	VMULPS(d.AsX(), scaled, scaled)
	for k, disp := range [][4]int{{xStarts16, xMins16, cellStart16, cellMin16}, {xStarts16 + 32, xMins16 + 32, cellStart16 + 4, cellMin16 + 4}, {xStarts, xMins, cellStart, cellMin}} {
		VPEXTRD(Imm(uint64(k)), start, at(dp, disp[0]-xScales))
		VEXTRACTPS(Imm(uint64(k)), scaled, at(dp, disp[1]-xScales))
		VPEXTRD(Imm(uint64(k)), start, at(cells, disp[2]))
		VEXTRACTPS(Imm(uint64(k)), scaled, at(cells, disp[3]))
	}
	VPACKSSWB(x[2], x[0], x[0])
	VPERMD(x[0], order, x[0])
	VMOVDQU(x[0], at(dst, 0))
	VMOVDQU(x[0], at(cells, 0))
	ADDQ(stride, cells)
	ADDQ(U32(128), src)
	ADDQ(Imm(32), dst)
	ADDQ(Imm(4), dp)
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
	v := &vecState{i: avx2, w: arg("src"), natural: true}
	f.begin(v)
	f.header(v)
	scales, mins := v.scales, v.mins
	if !f.per16 {
		scales = twice(scales[0])
	}
	switch {
	case mins == nil:
		z := YMM()
		avx2.zero(z)
		mins = []reg.VecVirtual{z, z}
	case !f.per16:
		mins = twice(mins[0])
	}
	for h := range 2 {
		VMOVUPS(scales[h], at(dst, wScales+32*h))
		VMOVUPS(mins[h], at(dst, wMins+32*h))
	}
	var bias reg.VecVirtual
	if f.bias > 0 {
		bias = avx2.bits(fmt.Sprintf("bytes%d", f.bias), uint32(f.bias)*0x01010101)
	}
	for s := range 4 {
		for h := range 2 {
			w := f.weights(v, s, h)
			if f.bias > 0 {
				VPSUBB(bias, w, w)
			}
			VMOVDQU(w, at(dst, 64*s+32*h))
		}
	}
}

// twice doubles each of eight lanes.
func twice(y reg.VecVirtual) []reg.VecVirtual {
	out := avx2.vecs(2)
	t := table("twice", repeat(2, 0, 1, 2, 3, 4, 5, 6, 7)...)
	for h, o := range out {
		VMOVDQU(t.Offset(32*h), o)
		VPERMPS(y, o, o)
	}
	return out
}
