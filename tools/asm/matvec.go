package main

import (
	"fmt"
	"math/bits"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A format is a block format with a fused product: unpacked in registers and
// multiplied with one activation row, as dotChunk would the unpacked weights.
type format struct {
	name  string
	bytes int  // of 256 columns
	tail  bool // rows may end within 256 columns
	begin func(v *vecState)

	// header loads the scales of 256 columns into v.scales, in one register for
	// each 32 columns; of 16: for each 16, even ones first, in two (AVX2).
	// Minima are loaded into v.mins likewise.
	header func(v *vecState)
	per16  bool // scales are for 16 columns

	// weights loads bytes of step s: 64 columns, or (AVX2) the half h of them.
	weights func(v *vecState, s, h int) reg.VecVirtual
	bias    int  // bytes are weights plus this, from 0 to 127, or
	signed  bool // bytes are signed in AVX2, and plus 128 in AVX-512
}

var formats = []format{
	{name: "Q80", bytes: 272, tail: true, begin: nothing, header: headerHalves(34), weights: weightsQ80, signed: true},
	{name: "Q40", bytes: 144, tail: true, begin: beginQ40, header: headerHalves(18), weights: weightsQ40, bias: 8},
	{name: "Q4K", bytes: 144, begin: beginQ4K, header: headerQ4K, weights: weightsQ4K},
	{name: "Q6K", bytes: 210, begin: beginQ6K, header: headerQ6K, per16: true, weights: weightsQ6K, bias: 32},
	{name: "Q50", bytes: 176, tail: true, begin: beginQ50, header: headerHalves(22), weights: weightsQ50, bias: 16},
	{name: "IQ4NL", bytes: 144, tail: true, begin: beginIQ4NL, header: headerHalves(18), weights: weightsQ40, signed: true},
	{name: "Q5K", bytes: 176, begin: beginQ5K, header: headerQ4K, weights: weightsQ5K},
	{name: "Q2K", bytes: 84, begin: beginQ2K, header: headerQ2K, per16: true, weights: weightsQ2K},
	{name: "Q3K", bytes: 110, begin: beginQ3K, header: headerQ3K, per16: true, weights: weightsQ3K, bias: 4},
	{name: "Q41", bytes: 160, tail: true, begin: beginQ40, header: headerQ41(20), weights: weightsQ41},
	{name: "Q51", bytes: 192, tail: true, begin: beginQ50, header: headerQ41(24), weights: weightsQ51},
	{name: "MXFP4", bytes: 136, tail: true, begin: beginMXFP4, header: headerMXFP4, weights: weightsMXFP4, signed: true},
	{name: "IQ4XS", bytes: 136, begin: beginIQ4NL, header: headerIQ4XS, weights: weightsIQ4XS, signed: true},
}

func vecName(f format, i isa) string { return fmt.Sprintf("vec%s%s", f.name, i) }

func nothing(*vecState) {}

// vecState is the state shared by the steps of one product.
type vecState struct {
	i       isa
	ones    reg.VecVirtual // AVX2: words of 1
	flip    reg.VecVirtual // AVX-512: bytes of 128
	w       reg.GPVirtual
	x       reg.GPVirtual // activations
	weights [4]reg.VecVirtual
	acc     []reg.VecVirtual
	masks   []reg.VecVirtual
	scales  []reg.VecVirtual
	mins    []reg.VecVirtual
	table   reg.VecVirtual    // values of nibbles
	keep    reg.VecVirtual    // AVX2: which blocks of 32 columns the row has
	keepK   reg.OpmaskVirtual // AVX-512: the same
	k2      reg.OpmaskVirtual
	natural bool // groups of 16 columns in their order, not even ones first
}

// matVec makes the product of consecutive rows, stride bytes apart, with one
// activation row. Blocks are read entirely; last is the end of the last row.
func matVec(i isa, f format) {
	text(vecName(f, i), "func(dst *float32, w *byte, rows int, x *int8, n, stride int, last *byte)")
	Doc(vecName(f, i) + " adds to dst the products of consecutive rows of n weights, stride bytes apart, with an activation row.")
	dst, row, rows := arg("dst"), arg("w"), arg("rows")
	v := &vecState{i: i, w: GP64(), x: GP64()}
	if i == avx2 {
		v.ones = YMM()
		VBROADCASTSS(table("words1", 0x00010001), v.ones)
	}
	if i == avx512 && f.signed {
		v.flip = i.bits("flip", 0x80808080)
	}
	f.begin(v)
	parts := 1
	if i == avx2 && f.per16 {
		parts = 2
	}
	v.acc = i.vecs(parts)
	if !f.per16 {
		v.acc[0] = YMM()
	}
	left, steps := GP64(), GP64()
	rowLoop, chunk, block, whole := label("row"), label("chunk"), label("block"), label("whole")
	Label(rowLoop)
	MOVQ(row, v.w)
	MOVQ(NewParamAddr("x", 24), v.x)
	MOVQ(NewParamAddr("n", 32), left)
	if f.tail {
		v.keepAll()
	}
	Label(chunk)
	i.zero(v.acc...)
	MOVQ(U32(chunkBlocks), steps)
	Label(block)
	if f.tail {
		CMPQ(left, U32(256))
		JGE(LabelRef(whole))
		v.keepSome(left)
		CMPQ(rows, Imm(1))
		JNE(LabelRef(whole))
		MOVQ(NewParamAddr("last", 48), v.w)
		Label(whole)
	}
	for k := range (f.bytes + 63) / 64 {
		PREFETCHT0(at(v.w, prefetchAhead+64*k))
	}
	v.block(f)
	ADDQ(U32(uint32(f.bytes)), v.w)
	ADDQ(U32(xBlockBytes), v.x)
	end := label("end")
	SUBQ(U32(256), left)
	JLE(LabelRef(end))
	DECQ(steps)
	JNZ(LabelRef(block))
	Label(end)
	sum := v.foldGroups(f, v.acc)
	VADDSS(at(dst, 0), sum, sum)
	VMOVSS(sum, at(dst, 0))
	TESTQ(left, left)
	JG(LabelRef(chunk))
	ADDQ(Imm(4), dst)
	ADDQ(NewParamAddr("stride", 40), row)
	DECQ(rows)
	JNZ(LabelRef(rowLoop))
	ret()
}

// block adds 256 columns.
func (v *vecState) block(f format) {
	v.scales, v.mins = nil, nil
	f.header(v)
	xm := xMins
	if f.per16 {
		xm = xMins16
	}
	for k, m := range v.mins {
		if f.tail {
			v.keepOnly(m)
		}
		VFNMADD231PS(at(v.x, xm+v.width(m)*k), m, v.acc[k])
	}
	v.load(f)
	for k, sum := range v.groups(f) {
		VCVTDQ2PS(sum, sum)
		VFMADD231PS(v.timesX(f, v.scales[k]), sum, v.acc[k])
	}
}

func (v *vecState) width(r reg.VecVirtual) int { return int(r.Size()) }

// timesX multiplies scales with those of an activation row, and makes those of
// columns that the row does not have zeros.
func (v *vecState) timesX(f format, sc reg.VecVirtual) reg.VecVirtual {
	x := at(v.x, xScales)
	switch {
	case v.width(sc) == 64:
		out := ZMM()
		VBROADCASTF64X4(x, out)
		VMULPS(sc, out, out)
		return out
	case f.tail && v.i == avx512:
		out := YMM()
		VMULPS_Z(x, sc, v.keepK, out)
		return out
	}
	out := YMM()
	VMULPS(x, sc, out)
	if f.tail {
		VANDPS(v.keep, out, out)
	}
	return out
}

// keepOnly makes zeros of what belongs to columns that the row does not have.
func (v *vecState) keepOnly(m reg.VecVirtual) {
	if v.i == avx512 {
		VMOVAPS_Z(m, v.keepK, m)
	} else {
		VANDPS(v.keep, m, m)
	}
}

// keepAll and keepSome select scales: all eight, or those of n columns.
func (v *vecState) keepAll() {
	if v.i == avx512 {
		r := GP32()
		v.keepK = K()
		MOVL(U32(0xff), r)
		KMOVD(r, v.keepK)
		return
	}
	v.keep = YMM()
	VPCMPEQD(v.keep, v.keep, v.keep)
}

func (v *vecState) keepSome(n reg.GPVirtual) {
	blocks := GP64()
	MOVQ(n, blocks)
	SHRQ(Imm(5), blocks)
	if v.i == avx512 {
		r, all := GP32(), GP32()
		MOVL(U32(0xff), all)
		BZHIL(blocks.As32(), all, r)
		KMOVD(r, v.keepK)
		return
	}
	t := GP64()
	LEAQ(table("keep", append(repeat(8, 0xffffffff), repeat(8, 0)...)...), t)
	SHLQ(Imm(2), blocks)
	SUBQ(blocks, t)
	VMOVDQU(at(t, 32), v.keep)
}

// groups returns the integer sums of 32 columns each, or of 16, even ones
// first (AVX2: in two registers).
func (v *vecState) groups(f format) []reg.VecVirtual {
	if v.i == avx512 {
		return []reg.VecVirtual{v.groups512(f)}
	}
	var quads [2]reg.VecVirtual // sums of 16: [half][block]
	for k := range quads {
		var t [4]reg.VecVirtual
		for b := range t {
			t[b] = v.dot256(f, 2*k+b/2, b%2)
		}
		quads[k] = v.transposeSum(t)
	}
	even, odd := YMM(), YMM()
	VPERM2I128(Imm(0x20), quads[1], quads[0], even)
	VPERM2I128(Imm(0x31), quads[1], quads[0], odd)
	sums, starts := []reg.VecVirtual{even, odd}, xStarts16
	if !f.per16 {
		VPADDD(odd, even, even)
		sums, starts = sums[:1], xStarts
	}
	if f.bias > 0 {
		for k, sum := range sums {
			start := YMM()
			VMOVDQU(at(v.x, starts+32*k), start)
			VPSRAD(Imm(f.shift()), start, start)
			VPADDD(start, sum, sum)
		}
	}
	return sums
}

// load loads all weights of a block into registers, of which AVX2 has too few.
func (v *vecState) load(f format) {
	if v.i == avx2 {
		return
	}
	for s := range v.weights {
		w := f.weights(v, s, 0)
		if f.signed {
			VPXORD(v.flip, w, w)
		}
		v.weights[s] = w
	}
}

func (v *vecState) groups512(f format) reg.VecVirtual {
	var t [4]reg.VecVirtual
	for s, w := range v.weights {
		t[s] = ZMM()
		v.i.zero(t[s])
		VPDPBUSD(at(v.x, 64*s), w, t[s])
	}
	quads, order, sum := v.transposeSum(t), ZMM(), ZMM()
	// lane 4l+s is group 4s+l
	VMOVDQU32(table("evenFirst", 0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15), order)
	VPERMD(quads, order, sum)
	starts := xStarts16
	if !f.per16 {
		upper := YMM()
		VEXTRACTI64X4(Imm(1), sum, upper)
		VPADDD(upper, sum.AsY(), upper)
		sum, starts = upper, xStarts
	}
	switch {
	case f.signed:
		VPADDD(at(v.x, starts), sum, sum)
	case f.bias > 0:
		start := YMM()
		if f.per16 {
			start = ZMM()
		}
		VPSRAD(Imm(f.shift()), at(v.x, starts), start)
		VPADDD(start, sum, sum)
	}
	return sum
}

// shift scales a start for weights plus 128 down to the format's bias.
func (f format) shift() uint64 { return uint64(7 - bits.TrailingZeros(uint(f.bias))) }

// transposeSum adds the four lanes of every 128 bits: lane k is of t[k].
func (v *vecState) transposeSum(t [4]reg.VecVirtual) reg.VecVirtual {
	pair := func(unpackLow, unpackHigh func(...Op), a, b reg.VecVirtual) reg.VecVirtual {
		lo, hi := v.i.vec(), v.i.vec()
		unpackLow(b, a, lo)
		unpackHigh(b, a, hi)
		VPADDD(hi, lo, lo)
		return lo
	}
	low := pair(VPUNPCKLDQ, VPUNPCKHDQ, t[0], t[1])
	high := pair(VPUNPCKLDQ, VPUNPCKHDQ, t[2], t[3])
	return pair(VPUNPCKLQDQ, VPUNPCKHQDQ, low, high)
}

// dot256 adds products of 32 columns, 4 to a lane. Two products fit a word,
// where bytes are signed because their sign moves to the activation: |w| ≤ 128
// and |x| ≤ 127.
func (v *vecState) dot256(f format, s, h int) reg.VecVirtual {
	w := f.weights(v, s, h)
	x := at(v.x, 64*s+32*h)
	if f.signed {
		u, y := YMM(), YMM()
		VPABSB(w, u)
		VMOVDQU(x, y)
		VPSIGNB(w, y, y)
		VPMADDUBSW(y, u, w)
	} else {
		VPMADDUBSW(x, w, w)
	}
	VPMADDWD(v.ones, w, w)
	return w
}

// foldGroups adds the lanes of a chunk into lane 0.
func (v *vecState) foldGroups(f format, acc []reg.VecVirtual) reg.VecVirtual {
	x, t := XMM(), XMM()
	switch {
	case f.per16:
		x = quarter(v.i, acc)
	case v.i == avx512:
		VEXTRACTF32X4(Imm(1), acc[0].AsY(), x)
		VADDPS(x, acc[0].AsX(), x)
	default:
		VEXTRACTF128(Imm(1), acc[0].AsY(), x)
		VADDPS(x, acc[0].AsX(), x)
	}
	VPERMILPS(Imm(0xb1), x.AsX(), t) // neighbours
	VADDPS(t, x.AsX(), t)
	VPERMILPS(Imm(0x4e), t, x.AsX())
	VADDPS(x.AsX(), t, t)
	return t
}

// headerHalves makes a header of formats whose blocks of 32 columns start with
// a half.
func headerHalves(blockBytes int) func(v *vecState) {
	return func(v *vecState) { v.scales = []reg.VecVirtual{v.halves(0, blockBytes)} }
}

// halves loads eight halves, joined in general registers, whose ports are idle.
func (v *vecState) halves(disp, apart int) reg.VecVirtual {
	x := [2]reg.VecVirtual{XMM(), XMM()}
	for k := range x {
		all := GP64()
		MOVWQZX(at(v.w, disp+4*k*apart), all)
		for b := 1; b < 4; b++ {
			one := GP64()
			MOVWQZX(at(v.w, disp+(4*k+b)*apart), one)
			SHLQ(Imm(uint64(16*b)), one)
			ORQ(one, all)
		}
		VMOVQ(all, x[k])
	}
	VPUNPCKLQDQ(x[1], x[0], x[0])
	y := YMM()
	VCVTPH2PS(x[0], y)
	return y
}

// evenFirst reorders 16 bytes of scales.
func (v *vecState) evenFirst(x reg.VecVirtual) {
	if !v.natural {
		VPSHUFB(table("evenBytes", 0x06040200, 0x0e0c0a08, 0x07050301, 0x0f0d0b09), x, x)
	}
}

// widen16 makes 16 bytes float32 numbers, times d.
func (v *vecState) widen16(x, d reg.VecVirtual, widen func(...Op), then func(reg.VecVirtual)) (out []reg.VecVirtual) {
	for k := range v.i.parts() {
		f := v.i.vec()
		if k == 1 {
			upper := XMM()
			VPSRLDQ(Imm(8), x, upper)
			x = upper
		}
		widen(x, f)
		then(f)
		VCVTDQ2PS(f, f)
		VMULPS(d, f, f)
		out = append(out, f)
	}
	return out
}
