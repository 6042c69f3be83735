package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A format is a block format with a fused product: unpacked in registers and
// multiplied with one activation row, as dotBlock would the unpacked weights.
type format struct {
	name   string
	bytes  int  // of 256 columns
	blocks int  // how many blocks those are
	tail   bool // rows may end within 256 columns
	begin  func(v *vecState)

	// header leaves the scales of 256 columns in v.scales, in one register for
	// each 32 columns (AVX2, of 16: two registers), and minima, for each 16
	// columns, in v.mins.
	header func(v *vecState)
	per16  bool // scales are for 16 columns

	// weights loads bytes of step s: 64 columns, or (AVX2) the half h of them.
	weights  func(v *vecState, s, h int) reg.VecVirtual
	unsigned bool // from 0 to 127
}

var formats = []format{
	{name: "Q80", bytes: 272, blocks: 8, tail: true, begin: beginQ80, header: headerHalves(34), weights: weightsQ80},
	{name: "Q40", bytes: 144, blocks: 8, tail: true, begin: beginQ40, header: headerHalves(18), weights: weightsQ40},
	{name: "Q4K", bytes: 144, blocks: 1, begin: beginQ4K, header: headerQ4K, weights: weightsQ4K, unsigned: true},
	{name: "Q6K", bytes: 210, blocks: 1, begin: beginQ6K, header: headerQ6K, per16: true, weights: weightsQ6K},
	{name: "Q50", bytes: 176, blocks: 8, tail: true, begin: beginQ50, header: headerHalves(22), weights: weightsQ50},
	{name: "IQ4NL", bytes: 144, blocks: 8, tail: true, begin: beginIQ4NL, header: headerHalves(18), weights: weightsQ40},
	{name: "Q5K", bytes: 176, blocks: 1, begin: beginQ5K, header: headerQ4K, weights: weightsQ5K, unsigned: true},
	{name: "Q2K", bytes: 84, blocks: 1, begin: beginQ2K, header: headerQ2K, per16: true, weights: weightsQ2K, unsigned: true},
	{name: "Q3K", bytes: 110, blocks: 1, begin: beginQ3K, header: headerQ3K, per16: true, weights: weightsQ3K},
	{name: "IQ4XS", bytes: 136, blocks: 1, begin: beginIQ4NL, header: headerIQ4XS, weights: weightsIQ4XS},
}

// vecState is what the steps of one product share.
type vecState struct {
	*intConsts
	w, xq, xd reg.GPVirtual // weights, activation bytes, activation scales
	acc       []reg.VecVirtual
	half      bool // AVX-512: only the first 32 of 64 columns exist
	masks     []reg.VecVirtual
	scales    []reg.VecVirtual
	mins      []reg.VecVirtual
	table     reg.VecVirtual // values of nibbles, if not what they are less 8
	k1, k2    reg.OpmaskVirtual
}

// matVec makes the product of consecutive rows with one activation row.
func matVec(i isa, f format) {
	text(fmt.Sprintf("vec%s%s", f.name, i), "func(dst *float32, w *byte, rows int, x *byte, n int)")
	Doc(fmt.Sprintf("vec%s%s multiplies consecutive rows of n weights with one activation row.", f.name, i))
	dst, rows, x, n := arg("dst"), arg("rows"), arg("x"), arg("n")
	v := &vecState{w: arg("w"), xq: GP64(), xd: GP64()}
	v.intConsts = newIntConsts(i)
	v.acc = i.vecs(i.parts())
	f.begin(v)
	left := GP64()
	row, block, tail, half, end := label("row"), label("block"), label("tail"), label("half"), label("end")
	Label(row)
	i.zero(v.acc...)
	MOVQ(x, v.xq)
	MOVQ(n, left)
	Label(block)
	CMPQ(left, U32(256))
	JL(LabelRef(tail))
	for k := range (f.bytes + 63) / 64 {
		PREFETCHT0(at(v.w, prefetchAhead+64*k))
	}
	LEAQ(at(v.xq, xScales), v.xd)
	f.header(v)
	for h, m := range v.mins {
		VFNMADD231PS(at(v.xq, xMins+i.width()*h), m, v.acc[h])
	}
	v.timesX(f)
	for s := range 4 {
		for h := range i.parts() {
			v.step(f, v.spread(f, s, h), s, h)
		}
	}
	ADDQ(U32(uint32(f.bytes)), v.w)
	ADDQ(U32(xBlockBytes), v.xq)
	SUBQ(U32(256), left)
	JMP(LabelRef(block))
	Label(tail)
	if f.tail {
		LEAQ(at(v.xq, xScales), v.xd)
		loop := label("tailLoop")
		Label(loop)
		CMPQ(left, Imm(64))
		JL(LabelRef(half))
		for h := range i.parts() {
			v.step(f, v.tailScale(f, h), 0, h)
		}
		ADDQ(U32(uint32(f.bytes/4)), v.w)
		ADDQ(Imm(64), v.xq)
		ADDQ(Imm(8), v.xd)
		SUBQ(Imm(64), left)
		JMP(LabelRef(loop))
		Label(half)
		TESTQ(left, left)
		JZ(LabelRef(end))
		v.half = true
		v.step(f, v.tailScale(f, 0), 0, 0)
		v.half = false
		ADDQ(U32(uint32(f.bytes/8)), v.w)
		Label(end)
	}
	VMOVSS(foldLanes(i, v.acc).AsX(), at(dst, 0))
	ADDQ(Imm(4), dst)
	DECQ(rows)
	JNZ(LabelRef(row))
	ret()
}

// timesX multiplies the scales of a block with those of the activations.
func (v *vecState) timesX(f format) {
	for k, sc := range v.scales {
		switch {
		case !f.per16:
			VMULPS(at(v.xd, 0), sc, sc)
		case v.i == avx512:
			x := ZMM()
			VMOVUPS(table("twice", twice...), x)
			VPERMPS(at(v.xd, 0), x, x) // reads 64 bytes, uses 32
			VMULPS(x, sc, sc)
		default:
			x := v.twiceMem(k)
			VPERMPS(at(v.xd, 0), x, x)
			VMULPS(x, sc, sc)
		}
	}
}

// spread puts the scales of step s (AVX2: its half h) in the lanes of their
// columns, four to a lane.
func (v *vecState) spread(f format, s, h int) reg.VecVirtual {
	k, i := 0, uint32(2*s)
	var order []uint32
	switch {
	case v.i == avx512 && f.per16:
		order = repeat(4, 2*i, 2*i+1, 2*i+2, 2*i+3)
	case v.i == avx512:
		order = repeat(8, i, i+1)
	case f.per16:
		k, i = s/2, (2*i+uint32(2*h))%8
		order = repeat(4, i, i+1)
	default:
		order = repeat(8, i+uint32(h))
	}
	name := "order"
	for _, o := range order {
		name += fmt.Sprintf("%x", o)
	}
	scale := v.i.vec()
	VMOVUPS(table(name, order...), scale)
	if v.i == avx512 {
		VPERMPS(v.scales[k].AsZ(), scale, scale)
	} else {
		VPERMPS(v.scales[k], scale, scale)
	}
	return scale
}

// tailScale reads the scales of two blocks of 32 (AVX2, or half: of one) at
// the start of the weights, times the activations'.
func (v *vecState) tailScale(f format, h int) reg.VecVirtual {
	scale := v.halfPair(f.bytes/8, h)
	if v.i == avx512 {
		d := v.xScale512(at(v.xd, 0))
		VMULPS(d, scale, scale)
		return scale
	}
	d := YMM()
	VBROADCASTSS(at(v.xd, 4*h), d)
	VMULPS(d, scale, scale)
	return scale
}

// step accumulates 64 columns, or (AVX2) half of them, times scale.
func (v *vecState) step(f format, scale reg.VecVirtual, s, h int) {
	w := f.weights(v, s, h)
	switch {
	case v.i == avx512 && f.unsigned:
		x, t := ZMM(), ZMM()
		VPXORD(at(v.xq, 64*s), v.u128, x)
		v.i.zero(t)
		VPDPBUSD(x, w, t)
		VCVTDQ2PS(t, t)
		VFMADD231PS(scale, t, v.acc[0])
	case v.i == avx512:
		x, t := ZMM(), ZMM()
		VMOVDQU8(at(v.xq, 64*s), x)
		negatedSum(v.intConsts, w, t)
		VPDPBUSD(w, x, t)
		VCVTDQ2PS(t, t)
		VFMADD231PS(scale, t, v.acc[0])
	default:
		x := YMM()
		VMOVDQU(at(v.xq, 64*s+32*h), x)
		VPXOR(v.flip, x, x)
		if f.unsigned {
			VPMADDUBSW(x, w, w)
			v.finish256(w, scale, v.acc[h])
		} else {
			v.signedDot256(w, x, scale, v.acc[h])
		}
	}
}

// headerHalves makes a header of formats whose blocks of 32 columns start with
// a half: eight, joined in general registers, whose ports are idle.
func headerHalves(blockBytes int) func(v *vecState) {
	return func(v *vecState) {
		x := [2]reg.VecVirtual{XMM(), XMM()}
		for k := range x {
			all := GP64()
			MOVWQZX(at(v.w, 4*k*blockBytes), all)
			for b := 1; b < 4; b++ {
				one := GP64()
				MOVWQZX(at(v.w, (4*k+b)*blockBytes), one)
				SHLQ(Imm(uint64(16*b)), one)
				ORQ(one, all)
			}
			VMOVQ(all, x[k])
		}
		VPUNPCKLQDQ(x[1], x[0], x[0])
		y := YMM()
		VCVTPH2PS(x[0], y)
		v.scales = []reg.VecVirtual{y}
	}
}

// halfPair loads the half-precision scales of two neighbouring blocks (AVX2
// and a lone block: of one) as float32.
func (v *vecState) halfPair(blockBytes, h int) reg.VecVirtual {
	if v.i == avx512 {
		y, z := YMM(), ZMM()
		VPBROADCASTW(at(v.w, 0), y)
		if !v.half {
			VPBROADCASTW(at(v.w, blockBytes), v.k1, y)
		}
		VCVTPH2PS(y, z)
		return z
	}
	x, y := XMM(), YMM()
	VPBROADCASTW(at(v.w, h*blockBytes), x)
	VCVTPH2PS(x, y)
	return y
}

// upperWords makes k1 select the words 8 to 15.
func (v *vecState) upperWords() {
	if v.i == avx512 {
		r := GP32()
		v.k1 = K()
		MOVL(U32(0xff00), r)
		KMOVD(r, v.k1)
	}
}
