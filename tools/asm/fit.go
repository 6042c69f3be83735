package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Searches for scales, of package quant: a lane is a run of values that share a
// scale, so that sums have the order of the portable code and no lanes are added.

// fitFunctions makes them for AVX2: a block has eight runs, or sixteen.
func fitFunctions(i isa) {
	if i == avx2 {
		affineTrial()
		centredTrial()
		fitLoss()
	}
}

// A fitter holds constants of a search.
type fitter struct{ magic, lo, hi, finite, abs, one reg.VecVirtual }

func newFitter(lo, hi Op) *fitter {
	f := &fitter{magic: broadcastF(avx2, 12582912), lo: YMM(), hi: YMM(), finite: avx2.bits("maxFinite", 0x7f7fffff), abs: avx2.bits("absMask", 0x7fffffff), one: broadcastF(avx2, 1)}
	VBROADCASTSS(lo, f.lo)
	VBROADCASTSS(hi, f.hi)
	return f
}

// inverse replaces d by 1/d, or by zero if that is infinite.
func (f *fitter) inverse(d reg.VecVirtual) {
	size := YMM()
	VDIVPS(d, f.one, d)
	VANDPS(f.abs, d, size)
	VCMPPS(Imm(2), f.finite, size, size) // size ≤ finite
	VANDPS(size, d, d)
}

// level replaces v by the nearest integer from lo to hi.
func (f *fitter) level(v reg.VecVirtual) {
	VADDPS(f.magic, v, v)
	VSUBPS(f.magic, v, v)
	VMAXPS(f.lo, v, v)
	VMINPS(f.hi, v, v)
}

// eachPair makes a loop over n vectors of x and w.
func eachPair(x, w, n reg.GPVirtual, body func(x, w Mem)) {
	loop := label("loop")
	Label(loop)
	body(at(x, 0), at(w, 0))
	ADDQ(Imm(32), x)
	ADDQ(Imm(32), w)
	DECQ(n)
	JNZ(LabelRef(loop))
}

func loaded(m Mem) reg.VecVirtual {
	v := YMM()
	VMOVUPS(m, v)
	return v
}

func product(a, b reg.VecVirtual) reg.VecVirtual {
	v := YMM()
	VMULPS(a, b, v)
	return v
}

// affineTrial's state, vectors of 32 bytes: scale, offset and gain of the trial,
// those of the best one, the sums of w and of w·x.
func affineTrial() {
	text("affineTrialAVX2", "func(x, w *float32, n int, top float32, state *float32, below uint32)")
	Doc("affineTrialAVX2 does affineTrialGeneric.")
	x, w, n, st := arg("x"), arg("w"), arg("n"), arg("state")
	zero := table("f32_00000000", 0)
	f := newFitter(zero, NewParamAddr("top", 24))
	offset, inv := loaded(at(st, 32)), loaded(at(st, 0))
	f.inverse(inv)
	sums := avx2.vecs(3) // w·q, w·q², w·q·x
	avx2.zero(sums...)
	eachPair(x, w, n, func(x, w Mem) {
		v, q, t := loaded(x), YMM(), YMM()
		VSUBPS(offset, v, q)
		VMULPS(inv, q, q)
		f.level(q)
		wq := YMM()
		VMULPS(w, q, wq)
		VADDPS(wq, sums[0], sums[0])
		VMULPS(wq, q, t)
		VADDPS(t, sums[1], sums[1])
		VMULPS(wq, v, v)
		VADDPS(v, sums[2], sums[2])
	})
	sw, sx := loaded(at(st, 192)), loaded(at(st, 224))
	sq, sqq, sxq := sums[0], sums[1], sums[2]
	difference := func(a, b, c, d reg.VecVirtual) reg.VecVirtual { // a·b - c·d
		p, q := product(a, b), product(c, d)
		VSUBPS(q, p, p)
		return p
	}
	det := difference(sw, sqq, sq, sq)
	s, o := difference(sw, sxq, sq, sx), difference(sqq, sx, sq, sxq)
	VDIVPS(det, s, s)
	VDIVPS(det, o, o)
	none, positive, alone, valid := YMM(), YMM(), YMM(), YMM()
	VXORPS(none, none, none)
	VCMPPS(Imm(0x1e), none, o, positive) // o > 0
	mask := YMM()
	VBROADCASTSS(NewParamAddr("below", 40), mask)
	VANDPS(mask, positive, positive)
	VDIVPS(sqq, sxq, alone)
	VBLENDVPS(positive, alone, s, s)
	VANDNPS(o, positive, o)
	VCMPPS(Imm(0x1e), none, det, det)
	VCMPPS(Imm(0x1e), none, s, valid)
	VANDPS(det, valid, valid)
	gain, t := product(s, sxq), product(o, sx)
	VADDPS(t, gain, gain)
	VANDPS(valid, gain, gain)
	VBLENDVPS(valid, s, loaded(at(st, 0)), s)
	VBLENDVPS(valid, o, offset, o)
	VMOVUPS(s, at(st, 0))
	VMOVUPS(o, at(st, 32))
	VMOVUPS(gain, at(st, 64))
	most, better := loaded(at(st, 160)), YMM()
	VCMPPS(Imm(0x1e), most, gain, better)
	for k, v := range []reg.VecVirtual{s, o, gain} {
		old := loaded(at(st, 96+32*k))
		VBLENDVPS(better, v, old, old)
		VMOVUPS(old, at(st, 96+32*k))
	}
	ret()
}

// centredTrial's state: the best scale and its gain.
func centredTrial() {
	text("centredTrialAVX2", "func(x, w *float32, n int, lo, hi float32, peak *float32, part float32, state *float32)")
	Doc("centredTrialAVX2 does centredTrialGeneric.")
	x, w, n, peak, st := arg("x"), arg("w"), arg("n"), arg("peak"), arg("state")
	f := newFitter(NewParamAddr("lo", 24), NewParamAddr("hi", 28))
	inv, part := loaded(at(peak, 0)), YMM()
	VBROADCASTSS(NewParamAddr("part", 40), part)
	VDIVPS(part, inv, inv)
	f.inverse(inv)
	sums := avx2.vecs(2) // w·y·x, w·y²
	avx2.zero(sums...)
	eachPair(x, w, n, func(x, w Mem) {
		v, y := loaded(x), YMM()
		VMULPS(inv, v, y)
		f.level(y)
		wy := YMM()
		VMULPS(w, y, wy)
		VMULPS(wy, v, v)
		VADDPS(v, sums[0], sums[0])
		VMULPS(wy, y, y)
		VADDPS(y, sums[1], sums[1])
	})
	xy, yy := sums[0], sums[1]
	none, valid, s := YMM(), YMM(), YMM()
	VXORPS(none, none, none)
	VCMPPS(Imm(0x1e), none, yy, valid)
	VDIVPS(yy, xy, s)
	gain := product(s, xy)
	VANDPS(valid, gain, gain)
	best, most, better := loaded(at(st, 0)), loaded(at(st, 32)), YMM()
	VCMPPS(Imm(0x1e), most, gain, better)
	VBLENDVPS(better, s, best, best)
	VBLENDVPS(better, gain, most, most)
	VMOVUPS(best, at(st, 0))
	VMOVUPS(most, at(st, 32))
	ret()
}

func fitLoss() {
	text("fitLossAVX2", "func(x, w *float32, n int, lo, hi float32, scale, offset, sum *float32)")
	Doc("fitLossAVX2 does fitLossGeneric.")
	x, w, n := arg("x"), arg("w"), arg("n")
	f := newFitter(NewParamAddr("lo", 24), NewParamAddr("hi", 28))
	scale, offset := loaded(at(arg("scale"), 0)), loaded(at(arg("offset"), 0))
	inv, sum := YMM(), YMM()
	VMOVAPS(scale, inv)
	f.inverse(inv)
	avx2.zero(sum)
	eachPair(x, w, n, func(x, w Mem) {
		v, q := loaded(x), YMM()
		VSUBPS(offset, v, v)
		VMULPS(inv, v, q)
		f.level(q)
		VMULPS(scale, q, q)
		VSUBPS(q, v, v)
		VMULPS(v, v, v)
		VMULPS(w, v, v)
		VADDPS(v, sum, sum)
	})
	VMOVUPS(sum, at(arg("sum"), 0))
	ret()
}
