package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A packed format describes how the cells of package kernel's packed form, 32
// columns of 16 rows, become weights and scales in registers.
type packed struct {
	name    string
	code    int  // bytes of a cell's codes
	scale   int  // bytes of a cell's scales
	block   int  // bytes of what 256 columns have
	per16   bool // scales are for 16 columns
	mins    bool
	inCache bool // and is not prefetched
	begin   func(t *tileState)

	// quads loads 4 columns of the rows for each k of 8.
	quads func(t *tileState, ks []int) []reg.VecVirtual
	// scales loads the scale and the minimum, or nil, of half h of the columns.
	scales func(t *tileState, h int) (s, m reg.VecVirtual)

	bias   int  // codes are weights plus this, or
	signed bool // weights plus 128 (AVX-512), or weights (AVX2)
	words  int  // AVX2: products of this many groups of four columns fit 16 bits
}

var packedFormats = []packed{
	{name: "Q80", code: 512, scale: 32, begin: begin8, quads: quads8, scales: scaleHalf, signed: true},
	{name: "Q40", code: 256, scale: 32, begin: begin4, quads: quads4, scales: scaleHalf, bias: 8, words: 8},
	{name: "IQ4NL", code: 256, scale: 32, begin: beginTable("iq4", iq4Values), quads: quadsTable, scales: scaleHalf, signed: true},
	{name: "Q41", mins: true, code: 256, scale: 64, begin: begin4, quads: quads4, scales: scaleHalves, words: 8},
	{name: "Q50", code: 320, scale: 32, begin: begin5, quads: quads5, scales: scaleHalf, bias: 16, words: 4},
	{name: "Q51", mins: true, code: 320, scale: 64, begin: begin5, quads: quads5, scales: scaleHalves, words: 4},
	{name: "MXFP4", code: 256, scale: 16, begin: beginTable("mxfp4", mxfp4Values), quads: quadsTable, scales: scaleE8M0, signed: true},
	{name: "IQ4XS", code: 256, scale: 16, block: 32, begin: beginTable("iq4", iq4Values), quads: quadsTable, scales: scaleInt8, signed: true},
	{name: "Q4K", mins: true, code: 256, scale: 32, block: 64, begin: begin4, quads: quads4, scales: scaleBytes, words: 8},
	{name: "Q5K", mins: true, code: 320, scale: 32, block: 64, begin: begin5, quads: quads5, scales: scaleBytes, words: 4},
	{name: "Q6K", code: 384, scale: 32, block: 32, per16: true, begin: begin6, quads: quads6, scales: scaleInt8, bias: 32, words: 2},
	{name: "Q3K", code: 192, scale: 32, block: 32, per16: true, begin: begin3, quads: quads3, scales: scaleInt8, bias: 4, words: 4},
	{name: "Q2K", mins: true, code: 128, scale: 32, block: 64, per16: true, begin: begin2K, quads: quads2, scales: scaleNibbles, words: 4},
}

// panelFormats are what formats are expanded to, for products with many
// activation rows: bytes and float32 numbers.
var panelFormats = []packed{
	{name: "Panel", code: 512, scale: 64, begin: begin8, quads: quads8, scales: scaleFloat, inCache: true, signed: true},
	{name: "PanelMins", code: 512, scale: 128, mins: true, begin: begin8, quads: quads8, scales: scaleFloat, inCache: true, signed: true},
	{name: "Panel16", code: 512, scale: 128, per16: true, begin: begin8, quads: quads8, scales: scaleFloat, inCache: true, signed: true},
	{name: "Panel16Mins", code: 512, scale: 256, per16: true, mins: true, begin: begin8, quads: quads8, scales: scaleFloat, inCache: true, signed: true},
}

func scaleFloat(t *tileState, h int) (s, m reg.VecVirtual) {
	s = t.i.vec()
	VMOVUPS(at(t.scale, 64*h), s)
	if t.f.mins {
		m = t.i.vec()
		VMOVUPS(at(t.scale, t.f.scale/2+64*h), m)
	}
	return s, m
}

// constant returns a register with a word in every lane, loaded at the start
// of the function.
func (t *tileState) constant(name string, word uint32) reg.VecVirtual {
	v, ok := t.constants[name]
	if !ok {
		v = t.i.bits(name, word)
		t.constants[name] = v
	}
	return v
}

func (t *tileState) nibbleMask() reg.VecVirtual { return t.constant("nibbles", 0x0f0f0f0f) }

func begin8(t *tileState) {
	if t.i == avx2 {
		t.constant("flip", 0x80808080)
	}
}

func begin4(t *tileState) { t.nibbleMask() }

func begin5(t *tileState) {
	t.nibbleMask()
	t.constant("sixteens", 0x10101010)
}

func begin6(t *tileState) {
	t.nibbleMask()
	t.constant("pairs", 0x30303030)
}

func begin3(t *tileState) {
	begin2(t)
	t.constant("fours", 0x04040404)
}

func begin2K(t *tileState) {
	begin2(t)
	t.constant("fifteen", 15)
}

func begin2(t *tileState) { t.constant("threes", 0x03030303) }

var (
	iq4Values   = []int8{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}
	mxfp4Values = []int8{0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12}
)

// beginTable loads the values that nibbles name; plus 128 in AVX-512.
func beginTable(name string, values []int8) func(t *tileState) {
	return func(t *tileState) {
		words, flip := make([]uint32, 4), byte(0)
		if t.i == avx512 {
			flip, name = 128, name+"Plus128"
		}
		for k, v := range values {
			words[k/4] |= uint32(byte(v)^flip) << (k % 4 * 8)
		}
		t.nibbleMask()
		t.constant("one", 1)
		t.table = t.i.vec()
		t.i.load(table(name+"Table", repeatAll(4, words...)...), t.table)
	}
}

// vector returns vector v of the cell's codes.
func (t *tileState) vector(v int) Mem { return at(t.code, 64*v+32*t.part) }

func (t *tileState) and(m, v, out Op) {
	if t.i == avx512 {
		VPANDD(m, v, out)
	} else {
		VPAND(m, v, out)
	}
}

func quads8(t *tileState, ks []int) (out []reg.VecVirtual) {
	for _, k := range ks {
		w := t.i.vec()
		t.i.load(t.vector(k), w)
		if t.i == avx2 {
			VPXOR(t.constants["flip"], w, w)
		}
		out = append(out, w)
	}
	return out
}

// quads4 loads nibbles: fours k and k+4 share a vector.
func quads4(t *tileState, ks []int) []reg.VecVirtual {
	out, mask := make([]reg.VecVirtual, len(ks)), t.nibbleMask()
	at := map[int]reg.VecVirtual{}
	for n, k := range ks {
		w := t.i.vec()
		switch both := at[k%4]; {
		case k < 4 && len(ks) < 8:
			t.and(t.vector(k), mask, w)
		case k < 4:
			at[k] = t.i.vec()
			t.i.load(t.vector(k), at[k])
			t.and(mask, at[k], w)
		case both == nil:
			t.i.load(t.vector(k%4), w)
			VPSRLW(Imm(4), w, w)
			t.and(mask, w, w)
		default:
			VPSRLW(Imm(4), both, both)
			w = both
			t.and(mask, w, w)
		}
		out[n] = w
	}
	return out
}

func quadsTable(t *tileState, ks []int) []reg.VecVirtual {
	out := quads4(t, ks)
	for _, w := range out {
		VPSHUFB(w, t.table, w)
	}
	return out
}

// shifted is v moved left (or right, if n is negative) within words.
func (t *tileState) shifted(v reg.VecVirtual, n int) reg.VecVirtual {
	out := t.i.vec()
	switch {
	case n > 0:
		VPSLLW(Imm(uint64(n)), v, out)
	case n < 0:
		VPSRLW(Imm(uint64(-n)), v, out)
	default:
		return v
	}
	return out
}

// join adds the bits of v that mask selects to w.
func (t *tileState) join(mask, v, w reg.VecVirtual) {
	if t.i == avx512 {
		VPTERNLOGD(Imm(0xf8), mask, v, w) // w | v&mask
		return
	}
	u := YMM()
	VPAND(mask, v, u)
	VPOR(u, w, w)
}

// highBits adds bits from planes that start at vector v, of 8/bits fours of
// columns each, above the codes' lower ones.
func (t *tileState) highBits(out []reg.VecVirtual, ks []int, v, bits, low int, mask reg.VecVirtual) {
	planes, per := map[int]reg.VecVirtual{}, 8/bits
	for n, k := range ks {
		p := planes[k/per]
		if p == nil {
			p = t.i.vec()
			t.i.load(t.vector(v+k/per), p)
			planes[k/per] = p
		}
		t.join(mask, t.shifted(p, low-k%per*bits), out[n])
	}
}

func quads5(t *tileState, ks []int) []reg.VecVirtual {
	out := quads4(t, ks)
	t.highBits(out, ks, 4, 1, 4, t.constants["sixteens"])
	return out
}

func quads6(t *tileState, ks []int) []reg.VecVirtual {
	out := quads4(t, ks)
	t.highBits(out, ks, 4, 2, 4, t.constants["pairs"])
	return out
}

func quads2(t *tileState, ks []int) (out []reg.VecVirtual) {
	planes := map[int]reg.VecVirtual{}
	for _, k := range ks {
		p, w := planes[k/4], t.i.vec()
		if p == nil {
			p = t.i.vec()
			t.i.load(t.vector(k/4), p)
			planes[k/4] = p
		}
		t.and(t.constants["threes"], t.shifted(p, -k%4*2), w)
		out = append(out, w)
	}
	return out
}

func quads3(t *tileState, ks []int) []reg.VecVirtual {
	out := quads2(t, ks)
	t.highBits(out, ks, 2, 1, 2, t.constants["fours"])
	return out
}

// halfAt widens halves, of 16 rows or (AVX2) 8.
func (t *tileState) halfAt(base reg.Register, disp int) reg.VecVirtual {
	v := t.i.vec()
	VCVTPH2PS(at(base, disp+16*t.part), v)
	return v
}

func scaleHalf(t *tileState, h int) (s, m reg.VecVirtual) { return t.halfAt(t.scale, 0), nil }

func scaleHalves(t *tileState, h int) (s, m reg.VecVirtual) {
	return t.halfAt(t.scale, 0), t.halfAt(t.scale, 32)
}

func (t *tileState) timesD(v reg.VecVirtual, disp int) {
	VCVTDQ2PS(v, v)
	VMULPS(t.halfAt(t.block, disp), v, v)
}

// scaleBytes loads a byte of scale and one of minimum.
func scaleBytes(t *tileState, h int) (s, m reg.VecVirtual) {
	s, m = t.i.vec(), t.i.vec()
	VPMOVZXBD(at(t.scale, 8*t.part), s)
	VPMOVZXBD(at(t.scale, 16+8*t.part), m)
	t.timesD(s, 0)
	t.timesD(m, 32)
	return s, m
}

func scaleInt8(t *tileState, h int) (s, m reg.VecVirtual) {
	s = t.i.vec()
	VPMOVSXBD(at(t.scale, 16*h+8*t.part), s)
	t.timesD(s, 0)
	return s, nil
}

// scaleNibbles loads a byte whose lower half is a scale and the upper a
// minimum.
func scaleNibbles(t *tileState, h int) (s, m reg.VecVirtual) {
	s, m = t.i.vec(), t.i.vec()
	VPMOVZXBD(at(t.scale, 16*h+8*t.part), s)
	VPSRLD(Imm(4), s, m)
	t.and(t.constant("fifteen", 15), s, s)
	t.timesD(s, 0)
	t.timesD(m, 32)
	return s, m
}

// scaleE8M0 makes 2^(e-128), which is subnormal for the smallest two.
func scaleE8M0(t *tileState, h int) (s, m reg.VecVirtual) {
	e, small := t.i.vec(), t.i.vec()
	VPMOVZXBD(at(t.scale, 8*t.part), e)
	VBROADCASTSS(table("subnormal", 0x200000), small)
	VPSLLVD(e, small, small)
	one := t.constant("one", 1)
	if t.i == avx512 {
		k := K()
		VPCMPUD(Imm(2), one, e, k) // e ≤ 1
		VPSUBD(one, e, e)
		VPSLLD(Imm(23), e, e)
		VMOVDQA32(small, k, e)
		return e, nil
	}
	is := YMM()
	VPCMPGTD(one, e, is) // e > 1
	VPSUBD(one, e, e)
	VPSLLD(Imm(23), e, e)
	VPBLENDVB(is, e, small, e)
	return e, nil
}

// a packedName names a product.
func packedName(f packed, i isa, rows int) string { return fmt.Sprintf("tile%sx%d%s", f.name, rows, i) }
