package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// dspTransforms are stages of Fourier transforms, and what makes real ones of complex
// ones. No product is fused with a sum, as in Go's code.
func dspTransforms(i isa) {
	fftWide(i, 2, butterfly2)
	fftWide(i, 3, butterfly3)
	fftWide(i, 4, butterfly4)
	fftWide(i, 5, butterfly5)
	fft4Near(i, "One", "of stride 1")
	fft4Near(i, "Four", "of stride 4")
	fft2Four(i)
	if i == avx2 {
		pairs2rows()
		rows2pairs()
		unpackSpectrum()
		packSpectrum()
	}
}

// minus and plus take a second operand in memory too.
func (i isa) minus(a reg.VecVirtual, b Op) reg.VecVirtual {
	v := i.vec()
	VSUBPS(b, a, v)
	return v
}

func (i isa) plus(a reg.VecVirtual, b Op) reg.VecVirtual {
	v := i.vec()
	VADDPS(b, a, v)
	return v
}

// columns addresses up to five vectors that lie at equal distances, such as the inputs
// of a butterfly of radix 4, a quarter of the length apart.
type columns struct{ base, one, three reg.GPVirtual }

func (q columns) at(k int) Mem {
	switch k {
	case 0:
		return Mem{Base: q.base}
	case 3:
		return Mem{Base: q.base, Index: q.three, Scale: 1}
	}
	return Mem{Base: q.base, Index: q.one, Scale: uint8(k)}
}

// butterfly4 computes radix-4 butterflies of one vector. It calls out with outputs
// that no factor turns, and then for k from 1 with those that the k-th turns.
func butterfly4(i isa, xr, xi columns, out func(k int, re, im reg.VecVirtual)) {
	half := func(x columns, k int) (sum, difference reg.VecVirtual) {
		a, b := i.loadPS(x.at(k)), x.at(k+2)
		return i.plus(a, b), i.minus(a, b)
	}
	sr, tr := half(xr, 0)
	ur, vr := half(xr, 1)
	si, ti := half(xi, 0)
	ui, vi := half(xi, 1)
	out(0, i.plus(sr, ur), i.plus(si, ui))
	VSUBPS(ur, sr, sr)
	VSUBPS(ui, si, si)
	out(2, sr, si)
	out(1, i.plus(tr, vi), i.sub(ti, vr))
	VSUBPS(vi, tr, tr)
	VADDPS(vr, ti, ti)
	out(3, tr, ti)
}

// turned returns (re, im) times (w, v).
func (i isa) turned(re, im reg.VecVirtual, w, v Op) (a, b reg.VecVirtual) {
	a, b, c, d := i.vec(), i.vec(), i.vec(), i.vec()
	VMULPS(w, re, a)
	VMULPS(v, im, c)
	VSUBPS(c, a, a)
	VMULPS(v, re, b)
	VMULPS(w, im, d)
	VADDPS(d, b, b)
	return a, b
}

// floats makes bytes of a number of float32.
func floats(n reg.GPVirtual) reg.GPVirtual {
	b := GP64()
	MOVQ(n, b)
	SHLQ(Imm(2), b)
	return b
}

// thrice returns three times a register.
func thrice(n reg.GPVirtual) reg.GPVirtual {
	b := GP64()
	LEAQ(Mem{Base: n, Index: n, Scale: 2}, b)
	return b
}

// fftWide has strides of whole vectors, so that a factor is one number.
func fftWide(i isa, radix int, butterfly func(i isa, xr, xi columns, out func(k int, re, im reg.VecVirtual))) {
	name := fmt.Sprintf("fft%dWide%s", radix, i)
	text(name, "func(yr, yi, xr, xi, wr, wi *float32, m, s int)")
	Doc(fmt.Sprintf("%s is a stage of radix %d, whose stride is a multiple of %d.", name, radix, i.width()/4))
	yr, yi, m, stride := arg("yr"), arg("yi"), arg("m"), floats(arg("s"))
	wr, wi := arg("wr"), arg("wi")
	part := GP64()
	MOVQ(stride, part)
	IMULQ(m, part)
	part3, stride3 := thrice(part), thrice(stride)
	xr, xi := columns{arg("xr"), part, part3}, columns{arg("xi"), part, part3}
	outR, outI := columns{yr, stride, stride3}, columns{yi, stride, stride3}
	group, run, left := label("group"), label("run"), GP64()
	Label(group)
	MOVQ(stride, left)
	Label(run)
	butterfly(i, xr, xi, func(k int, re, im reg.VecVirtual) {
		if k == 0 {
			VMOVUPS(re, outR.at(k))
			VMOVUPS(im, outI.at(k))
			return
		}
		w, v, a, b := i.vec(), i.vec(), i.vec(), i.vec()
		VBROADCASTSS(at(wr, 4*(k-1)), w)
		VBROADCASTSS(at(wi, 4*(k-1)), v)
		VMULPS(w, re, a)
		VMULPS(v, im, b)
		VSUBPS(b, a, a)
		VMOVUPS(a, outR.at(k))
		VMULPS(v, re, a)
		VMULPS(w, im, b)
		VADDPS(b, a, a)
		VMOVUPS(a, outI.at(k))
	})
	for _, r := range []reg.GPVirtual{xr.base, xi.base, yr, yi} {
		ADDQ(Imm(uint64(i.width())), r)
	}
	SUBQ(Imm(uint64(i.width())), left)
	JNZ(LabelRef(run))
	for range radix - 1 {
		ADDQ(stride, yr)
		ADDQ(stride, yi)
	}
	ADDQ(Imm(uint64(4*(radix-1))), wr)
	ADDQ(Imm(uint64(4*(radix-1))), wi)
	DECQ(m)
	JNZ(LabelRef(group))
	ret()
}

func butterfly2(i isa, xr, xi columns, out func(k int, re, im reg.VecVirtual)) {
	ar, ai := i.loadPS(xr.at(0)), i.loadPS(xi.at(0))
	br, bi := xr.at(1), xi.at(1)
	out(0, i.plus(ar, br), i.plus(ai, bi))
	out(1, i.minus(ar, br), i.minus(ai, bi))
}

// scaled returns a number times a vector.
func (i isa) scaled(f float64, v reg.VecVirtual) reg.VecVirtual {
	b := math.Float32bits(float32(f))
	p := i.vec()
	VMULPS(table(fmt.Sprintf("lanes_%08x", b), repeat(16, b)...), v, p)
	return p
}

// sumDifference returns a+b and a-b of two columns.
func (i isa) sumDifference(x columns, k, l int) (sum, difference reg.VecVirtual) {
	a := i.loadPS(x.at(k))
	return i.plus(a, x.at(l)), i.minus(a, x.at(l))
}

func butterfly3(i isa, xr, xi columns, out func(k int, re, im reg.VecVirtual)) {
	sr, dr := i.sumDifference(xr, 1, 2)
	si, di := i.sumDifference(xi, 1, 2)
	dr, di = i.scaled(math.Sqrt(3)/2, dr), i.scaled(math.Sqrt(3)/2, di)
	ar, ai := i.loadPS(xr.at(0)), i.loadPS(xi.at(0))
	out(0, i.plus(ar, sr), i.plus(ai, si))
	tr, ti := i.minus(ar, i.scaled(0.5, sr)), i.minus(ai, i.scaled(0.5, si))
	out(1, i.plus(tr, di), i.minus(ti, dr))
	out(2, i.minus(tr, di), i.plus(ti, dr))
}

func butterfly5(i isa, xr, xi columns, out func(k int, re, im reg.VecVirtual)) {
	c1, s1 := math.Cos(2*math.Pi/5), math.Sin(2*math.Pi/5)
	c2, s2 := math.Cos(4*math.Pi/5), math.Sin(4*math.Pi/5)
	// Sums and differences of the pairs (1, 4) and (2, 3).
	var sum, f, g, h, j [2]reg.VecVirtual
	for part, x := range []columns{xr, xi} {
		b, d := i.sumDifference(x, 1, 4)
		c, e := i.sumDifference(x, 2, 3)
		a := i.loadPS(x.at(0))
		f[part] = i.plus(i.plus(a, i.scaled(c1, b)), i.scaled(c2, c))
		g[part] = i.plus(i.plus(a, i.scaled(c2, b)), i.scaled(c1, c))
		VADDPS(b, a, a)
		VADDPS(c, a, a)
		h[part] = i.plus(i.scaled(s1, d), i.scaled(s2, e))
		j[part] = i.minus(i.scaled(s2, d), i.scaled(s1, e))
		sum[part] = a
	}
	out(0, sum[0], sum[1])
	out(1, i.plus(f[0], h[1]), i.minus(f[1], h[0]))
	out(4, i.minus(f[0], h[1]), i.plus(f[1], h[0]))
	out(2, i.plus(g[0], j[1]), i.minus(g[1], j[0]))
	out(3, i.minus(g[0], j[1]), i.plus(g[1], j[0]))
}

// fft4Near has a stride shorter than a vector: factors are planes that are as long as
// a quarter, and outputs are put in order in registers.
func fft4Near(i isa, name, which string) {
	text("fft4"+name+string(i), "func(yr, yi, xr, xi, w *float32, quarter, n int)")
	Doc(fmt.Sprintf("fft4%s%s is n numbers of a stage of radix 4 %s, a multiple of %d.", name, i, which, i.width()/4))
	yr, yi, n := arg("yr"), arg("yi"), arg("n")
	quarter := floats(arg("quarter"))
	quarter3 := thrice(quarter)
	xr, xi := columns{arg("xr"), quarter, quarter3}, columns{arg("xi"), quarter, quarter3}
	w := arg("w")
	second := GP64() // the second half of the planes
	LEAQ(Mem{Base: w, Index: quarter3, Scale: 1}, second)
	planes := [2]columns{{w, quarter, quarter3}, {second, quarter, quarter3}}
	plane := func(k int) Mem { return planes[k/3].at(k % 3) }
	loop := label("loop")
	Label(loop)
	var re, im [4]reg.VecVirtual
	butterfly4(i, xr, xi, func(k int, r, j reg.VecVirtual) {
		if k > 0 {
			r, j = i.turned(r, j, plane(2*k-2), plane(2*k-1))
		}
		re[k], im[k] = r, j
	})
	for k, out := range [][4]reg.VecVirtual{re, im} {
		y := []reg.GPVirtual{yr, yi}[k]
		if name == "One" {
			s := &strip{tiles: [][4]reg.VecVirtual{out}, spare: i.vec()}
			s.transpose(0)
			out = s.tiles[0]
		}
		for row, v := range i.blocksAcross(out) {
			VMOVUPS(v, at(y, row*i.width()))
		}
	}
	for _, r := range []reg.GPVirtual{xr.base, xi.base, w, second} {
		ADDQ(Imm(uint64(i.width())), r)
	}
	ADDQ(U32(uint32(4*i.width())), yr)
	ADDQ(U32(uint32(4*i.width())), yi)
	SUBQ(Imm(uint64(i.width()/4)), n)
	JNZ(LabelRef(loop))
	ret()
}

// blocksAcross puts the first 128 bits of all four vectors in front, then the second.
func (i isa) blocksAcross(o [4]reg.VecVirtual) [4]reg.VecVirtual {
	v := [4]reg.VecVirtual(i.vecs(4))
	if i == avx2 {
		VINSERTF128(Imm(1), o[1].AsX(), o[0], v[0])
		VINSERTF128(Imm(1), o[3].AsX(), o[2], v[1])
		VPERM2F128(Imm(0x31), o[1], o[0], v[2])
		VPERM2F128(Imm(0x31), o[3], o[2], v[3])
		return v
	}
	t := i.vecs(4)
	for k, order := range []uint64{0x44, 0xee} {
		VSHUFF32X4(Imm(order), o[1], o[0], t[2*k])
		VSHUFF32X4(Imm(order), o[3], o[2], t[2*k+1])
	}
	for k, order := range []uint64{0x88, 0xdd, 0x88, 0xdd} {
		VSHUFF32X4(Imm(order), t[k&^1+1], t[k&^1], v[k])
	}
	return v
}

// fft2Four is as fft4Near, of radix 2.
func fft2Four(i isa) {
	text("fft2Four"+string(i), "func(yr, yi, xr, xi, w *float32, half, n int)")
	Doc(fmt.Sprintf("fft2Four%s is n numbers of a stage of radix 2 of stride 4, a multiple of %d.", i, i.width()/4))
	yr, yi, half, n := arg("yr"), arg("yi"), floats(arg("half")), arg("n")
	xr, xi := columns{base: arg("xr"), one: half}, columns{base: arg("xi"), one: half}
	w := columns{base: arg("w"), one: half}
	loop := label("loop")
	Label(loop)
	var re, im [2]reg.VecVirtual
	butterfly2(i, xr, xi, func(k int, r, j reg.VecVirtual) {
		if k > 0 {
			r, j = i.turned(r, j, w.at(0), w.at(1))
		}
		re[k], im[k] = r, j
	})
	for k, o := range [][2]reg.VecVirtual{re, im} {
		y := []reg.GPVirtual{yr, yi}[k]
		a, b := i.vec(), i.vec()
		if i == avx2 {
			VINSERTF128(Imm(1), o[1].AsX(), o[0], a)
			VPERM2F128(Imm(0x31), o[1], o[0], b)
		} else {
			VSHUFF32X4(Imm(0x44), o[1], o[0], a) // 00 01 10 11
			VSHUFF32X4(Imm(0xee), o[1], o[0], b)
			VSHUFF32X4(Imm(0xd8), a, a, a) // 00 10 01 11
			VSHUFF32X4(Imm(0xd8), b, b, b)
		}
		VMOVUPS(a, at(y, 0))
		VMOVUPS(b, at(y, i.width()))
	}
	for _, r := range []reg.GPVirtual{xr.base, xi.base, w.base} {
		ADDQ(Imm(uint64(i.width())), r)
	}
	ADDQ(U32(uint32(2*i.width())), yr)
	ADDQ(U32(uint32(2*i.width())), yi)
	SUBQ(Imm(uint64(i.width()/4)), n)
	JNZ(LabelRef(loop))
	ret()
}

// pairs2rows and rows2pairs have 8 frames of two rows in a step.
func pairs2rows() {
	text("pairs2rowsAVX2", "func(re, im, x *float32, n int)")
	Doc("pairs2rowsAVX2 writes x[2j] to re and x[2j+1] to im, for a multiple of 8 numbers of each.")
	re, im, x, n := arg("re"), arg("im"), arg("x"), arg("n")
	loop := label("loop")
	Label(loop)
	a, b := avx2.loadPS(at(x, 0)), avx2.loadPS(at(x, 32))
	for k, out := range []reg.GPVirtual{re, im} {
		v := YMM()
		VSHUFPS(Imm([]uint64{0x88, 0xdd}[k]), b, a, v)
		VPERMPD(Imm(0xd8), v, v)
		VMOVUPS(v, at(out, 0))
		ADDQ(Imm(32), out)
	}
	ADDQ(Imm(64), x)
	SUBQ(Imm(8), n)
	JNZ(LabelRef(loop))
	ret()
}

func rows2pairs() {
	text("rows2pairsAVX2", "func(x, re, im *float32, n int, scale float32)")
	Doc("rows2pairsAVX2 writes scale·re to x[2j] and scale·im to x[2j+1], for a multiple of 8 numbers of each.")
	x, re, im, n, scale := arg("x"), arg("re"), arg("im"), arg("n"), avx2.param("scale")
	loop := label("loop")
	Label(loop)
	a, b := avx2.loadPS(at(re, 0)), avx2.loadPS(at(im, 0))
	VMULPS(scale, a, a)
	VMULPS(scale, b, b)
	low, high, first, second := YMM(), YMM(), YMM(), YMM()
	VUNPCKLPS(b, a, low)
	VUNPCKHPS(b, a, high)
	VINSERTF128(Imm(1), high.AsX(), low, first)
	VPERM2F128(Imm(0x31), high, low, second)
	VMOVUPS(first, at(x, 0))
	VMOVUPS(second, at(x, 32))
	ADDQ(Imm(32), re)
	ADDQ(Imm(32), im)
	ADDQ(Imm(64), x)
	SUBQ(Imm(8), n)
	JNZ(LabelRef(loop))
	ret()
}

// A mirror walks a row from both ends: from number 1 up, and from a last one down, in
// vectors whose order is turned round.
type mirror struct{ up, down reg.GPVirtual }

// newMirror has the last number at index h-1 of a row.
func newMirror(row, h reg.GPVirtual) mirror {
	m := mirror{row, GP64()}
	LEAQ(Mem{Base: row, Index: h, Scale: 4, Disp: -32}, m.down)
	ADDQ(Imm(4), row)
	return m
}

func (m mirror) step() {
	ADDQ(Imm(32), m.up)
	SUBQ(Imm(32), m.down)
}

// reversal is the permutation that turns 8 numbers round.
func reversal() reg.VecVirtual {
	return avx2.loadPS(table("reversal", 7, 6, 5, 4, 3, 2, 1, 0))
}

func turnedRound(order reg.VecVirtual, from Op) reg.VecVirtual {
	v := YMM()
	VPERMPS(from, order, v)
	return v
}

// unpackSpectrum makes the spectrum of a real sequence of that of pairs.
func unpackSpectrum() {
	text("unpackSpectrumAVX2", "func(re, im, wr, wi *float32, h, n int)")
	Doc("unpackSpectrumAVX2 replaces bins 1 to n and h-n to h-1 of a spectrum of pairs; n is a multiple of 8.")
	h := arg("h")
	re, im := newMirror(arg("re"), h), newMirror(arg("im"), h)
	wr, wi, n := arg("wr"), arg("wi"), arg("n")
	order, half := reversal(), broadcastF(avx2, 0.5)
	ADDQ(Imm(4), wr)
	ADDQ(Imm(4), wi)
	loop := label("loop")
	Label(loop)
	ak, bk := avx2.loadPS(at(re.up, 0)), avx2.loadPS(at(im.up, 0))
	al, bl := turnedRound(order, at(re.down, 0)), turnedRound(order, at(im.down, 0))
	halved := func(v reg.VecVirtual) reg.VecVirtual {
		VMULPS(half, v, v)
		return v
	}
	er, ei := halved(avx2.plus(ak, al)), halved(avx2.sub(bk, bl))
	or, oi := halved(avx2.plus(bk, bl)), halved(avx2.sub(al, ak))
	tr, ti := avx2.turned(or, oi, avx2.loadPS(at(wr, 0)), avx2.loadPS(at(wi, 0)))
	VMOVUPS(avx2.plus(er, tr), at(re.up, 0))
	VMOVUPS(avx2.plus(ei, ti), at(im.up, 0))
	VMOVUPS(turnedRound(order, avx2.sub(er, tr)), at(re.down, 0))
	VMOVUPS(turnedRound(order, avx2.sub(ti, ei)), at(im.down, 0))
	for _, m := range []mirror{re, im} {
		m.step()
	}
	ADDQ(Imm(32), wr)
	ADDQ(Imm(32), wi)
	SUBQ(Imm(8), n)
	JNZ(LabelRef(loop))
	ret()
}

// packSpectrum goes the other way, but for a factor of two.
func packSpectrum() {
	text("packSpectrumAVX2", "func(ar, ai, re, im, wr, wi *float32, h, n int)")
	Doc("packSpectrumAVX2 writes bins 1 to n and h-n to h-1 of a spectrum of pairs; n is a multiple of 8.")
	h := arg("h")
	re, im := newMirror(arg("re"), h), newMirror(arg("im"), h)
	ar, ai := newMirror(arg("ar"), h), newMirror(arg("ai"), h)
	wr, wi, n := arg("wr"), arg("wi"), arg("n")
	order := reversal()
	ADDQ(Imm(4), wr)
	ADDQ(Imm(4), wi)
	loop := label("loop")
	Label(loop)
	rk, ik := avx2.loadPS(at(re.up, 0)), avx2.loadPS(at(im.up, 0))
	rl, il := turnedRound(order, at(re.down, 0)), turnedRound(order, at(im.down, 0))
	er, ei, tr, ti := avx2.plus(rk, rl), avx2.sub(ik, il), avx2.sub(rk, rl), avx2.plus(ik, il)
	w, v := avx2.loadPS(at(wr, 0)), avx2.loadPS(at(wi, 0))
	product := func(a, b reg.VecVirtual) reg.VecVirtual {
		p := YMM()
		VMULPS(b, a, p)
		return p
	}
	or := avx2.plus(product(tr, w), product(ti, v))
	oi := avx2.sub(product(ti, w), product(tr, v))
	VMOVUPS(avx2.sub(er, oi), at(ar.up, 0))
	VMOVUPS(avx2.plus(ei, or), at(ai.up, 0))
	VMOVUPS(turnedRound(order, avx2.plus(er, oi)), at(ar.down, 0))
	VMOVUPS(turnedRound(order, avx2.sub(or, ei)), at(ai.down, 0))
	for _, m := range []mirror{re, im, ar, ai} {
		m.step()
	}
	ADDQ(Imm(32), wr)
	ADDQ(Imm(32), wi)
	SUBQ(Imm(8), n)
	JNZ(LabelRef(loop))
	ret()
}
