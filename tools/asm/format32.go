package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Formats of 32 columns a block: how their bytes become weights.

func weightsQ80(v *vecState, s, h int) reg.VecVirtual {
	base, w := 68*s, v.i.vec()
	if v.i == avx512 {
		VMOVDQU(at(v.w, base+2), w.AsY())
		VINSERTI64X4(Imm(1), at(v.w, base+36), w, w)
	} else {
		VMOVDQU(at(v.w, base+34*h+2), w)
	}
	return w
}

// A block of nibbles holds columns 0 to 15 low and 16 to 31 high: the same 16
// bytes are needed twice, the second time shifted.
func beginQ40(v *vecState) {
	v.masks = v.i.vecs(2)
	VBROADCASTSS(table("nibbles", 0x0f0f0f0f), v.masks[0])
	shifts := table("shift04", repeatAll(2, append(repeat(4, 0), repeat(4, 4)...)...)...)
	v.i.load(shifts, v.masks[1])
}

func weightsQ40(v *vecState, s, h int) reg.VecVirtual {
	return v.nibbles(36*s+2, 18, h)
}

// nibbles loads two blocks (AVX2: block h) of 16 bytes at a distance.
func (v *vecState) nibbles(base, apart, h int) reg.VecVirtual {
	w := v.i.vec()
	if v.i == avx512 {
		hi := YMM()
		VBROADCASTI32X4(at(v.w, base), w.AsY())
		VBROADCASTI32X4(at(v.w, base+apart), hi)
		VINSERTI64X4(Imm(1), hi, w, w)
		VPSRLVD(v.masks[1], w, w)
		VPANDD(v.masks[0], w, w)
	} else {
		VBROADCASTI128(at(v.w, base+apart*h), w)
		VPSRLVD(v.masks[1], w, w)
		VPAND(v.masks[0], w, w)
	}
	if v.table != nil {
		VPSHUFB(w, v.table, w)
	}
	return w
}

func beginIQ4NL(v *vecState) {
	beginQ40(v)
	v.table = v.i.vec()
	v.i.load(table("iq4Values", repeatAll(4, 0xbfad9881, 0xf6eaddcf, 0x26190d01, 0x71594535)...), v.table)
}

// Q5_0 is Q4_0 with 32 fifth bits before the nibbles.
func beginQ50(v *vecState) {
	beginQ40(v)
	sixteens := v.i.vec()
	VBROADCASTSS(table("sixteens", 0x10101010), sixteens)
	v.masks = append(v.masks, sixteens)
	if v.i == avx512 {
		v.k2 = K()
		return
	}
	v.masks = append(v.masks, YMM(), YMM())
	VMOVDQU(table("byteOf", append(append(repeat(2, 0), repeat(2, 0x01010101)...), append(repeat(2, 0x02020202), repeat(2, 0x03030303)...)...)...), v.masks[3])
	VMOVDQU(table("bitOf", repeatAll(4, 0x08040201, 0x80402010)...), v.masks[4])
}

func weightsQ50(v *vecState, s, h int) reg.VecVirtual { return v.fiveBits(s, h, 2, 22) }

// fiveBits loads blocks of some bytes with fifth bits at high, then nibbles.
func (v *vecState) fiveBits(s, h, high, block int) reg.VecVirtual {
	base := 2*block*s + block*h
	w := v.nibbles(2*block*s+high+4, block, h)
	if v.i == avx512 {
		bits, upper := GP64(), GP64()
		MOVL(at(v.w, base+high), bits.As32())
		MOVL(at(v.w, base+block+high), upper.As32())
		SHLQ(Imm(32), upper)
		ORQ(upper, bits)
		KMOVQ(bits, v.k2)
		VPADDB(v.masks[2], w, v.k2, w)
		return w
	}
	bits := YMM()
	VPBROADCASTD(at(v.w, base+high), bits)
	VPSHUFB(v.masks[3], bits, bits)
	VPAND(v.masks[4], bits, bits)
	VPCMPEQB(v.masks[4], bits, bits)
	VPAND(v.masks[2], bits, bits)
	VPOR(bits, w, w)
	return w
}

// Q4_1 and Q5_1 have a minimum after the scale, to be added.
func headerQ41(blockBytes int) func(v *vecState) {
	return func(v *vecState) {
		m, sign := v.halves(2, blockBytes), YMM()
		VBROADCASTSS(table("signBit", 0x80000000), sign)
		VXORPS(sign, m, m)
		v.scales, v.mins = []reg.VecVirtual{v.halves(0, blockBytes)}, []reg.VecVirtual{m}
	}
}

func weightsQ41(v *vecState, s, h int) reg.VecVirtual { return v.nibbles(40*s+4, 20, h) }

func weightsQ51(v *vecState, s, h int) reg.VecVirtual { return v.fiveBits(s, h, 4, 24) }

// MXFP4 is a byte of exponent, then nibbles that name values.
func beginMXFP4(v *vecState) {
	beginQ40(v)
	v.table = v.i.vec()
	v.i.load(table("mxfp4Values", repeatAll(4, 0x03020100, 0x0c080604, 0xfdfeff00, 0xf4f8fafc)...), v.table)
}

// headerMXFP4 makes 2^(e-128), which is subnormal for the smallest two.
func headerMXFP4(v *vecState) {
	all, x, e, small, is, two := GP64(), XMM(), YMM(), YMM(), YMM(), YMM()
	MOVBQZX(at(v.w, 0), all)
	for b := 1; b < 8; b++ {
		one := GP64()
		MOVBQZX(at(v.w, 17*b), one)
		SHLQ(Imm(uint64(8*b)), one)
		ORQ(one, all)
	}
	VMOVQ(all, x)
	VPMOVZXBD(x, e)
	VBROADCASTSS(table("two", 2), two)
	VBROADCASTSS(table("subnormal", 0x200000), small)
	VPSLLVD(e, small, small)
	VPCMPGTD(e, two, is)
	VPAND(is, small, small)
	VPSRLD(Imm(1), two, two)
	VPSUBD(two, e, e)
	VPSLLD(Imm(23), e, e)
	VPANDN(e, is, e)
	VPOR(small, e, e)
	v.scales = []reg.VecVirtual{e}
}

func weightsMXFP4(v *vecState, s, h int) reg.VecVirtual { return v.nibbles(34*s+1, 17, h) }
