package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Formats of 256 columns a block.

func beginQ4K(v *vecState) {
	v.masks = v.i.vecs(1)
	VBROADCASTSS(table("nibbles", 0x0f0f0f0f), v.masks[0])
	if v.i == avx512 {
		v.masks = append(v.masks, ZMM())
		VMOVDQU64(table("shift0044", append(repeat(8, 0), repeat(8, 0x40004)...)...), v.masks[1])
	}
}

// headerQ4K reads d, dmin and eight pairs of 6 bits (ggml: get_scale_min_k4).
func headerQ4K(v *vecState) {
	scales, mins := v.sixBits()
	v.scales, v.mins = []reg.VecVirtual{scales}, []reg.VecVirtual{mins}
}

// sixBits returns d·scales and dmin·minima, eight lanes each.
func (v *vecState) sixBits() (scales, mins reg.VecVirtual) {
	const low6, low4, low2 = 0x3f3f3f3f, 0x0f0f0f0f, 0x03030303
	a, b, c := GP32(), GP32(), GP32()
	MOVL(at(v.w, 4), a)
	MOVL(at(v.w, 8), b)
	MOVL(at(v.w, 12), c)
	both, d, m := YMM(), YMM(), YMM() // d and dmin in turn
	VPBROADCASTD(at(v.w, 0), both.AsX())
	VCVTPH2PS(both.AsX(), both)
	VMOVSLDUP(both, d)
	VMOVSHDUP(both, m)
	join := func(lower, upper reg.GPVirtual, d reg.VecVirtual) reg.VecVirtual {
		// lower: 6 bits of blocks 0 to 3, upper: of 4 to 7
		x, y := XMM(), YMM()
		SHLQ(Imm(32), upper.As64())
		ORQ(lower.As64(), upper.As64())
		VMOVQ(upper.As64(), x)
		VPMOVZXBD(x, y)
		VCVTDQ2PS(y, y)
		VMULPS(d, y, y)
		return y
	}
	high := func(r reg.GPVirtual) reg.GPVirtual { // the upper 2 bits, at bit 4
		h := GP32()
		MOVL(r, h)
		SHRL(Imm(6), h)
		ANDL(U32(low2), h)
		SHLL(Imm(4), h)
		return h
	}
	sHigh, mHigh, t := high(a), high(b), GP32()
	MOVL(c, t)
	ANDL(U32(low4), t)
	ORL(t, sHigh)
	SHRL(Imm(4), c)
	ANDL(U32(low4), c)
	ORL(c, mHigh)
	ANDL(U32(low6), a)
	ANDL(U32(low6), b)
	return join(a, sHigh, d), join(b, mHigh, m)
}

// A step of Q4_K is 32 bytes: low nibbles are 32 columns, high ones the next.
func weightsQ4K(v *vecState, s, h int) reg.VecVirtual {
	w := v.i.vec()
	if v.i == avx512 {
		VBROADCASTI64X4(at(v.w, 16+32*s), w)
		VPSRLVW(v.masks[1], w, w)
		VPANDD(v.masks[0], w, w)
		return w
	}
	VMOVDQU(at(v.w, 16+32*s), w)
	if h == 1 {
		VPSRLW(Imm(4), w, w)
	}
	VPAND(v.masks[0], w, w)
	return w
}

// Q5_K is Q4_K with 32 bytes of fifth bits before the nibbles: bit b for the
// columns from 32b on. A rotation moves it to bit 4.
func beginQ5K(v *vecState) {
	beginQ4K(v)
	v.masks = append(v.masks, v.i.vec())
	VBROADCASTSS(table("sixteens", 0x10101010), v.masks[len(v.masks)-1])
}

func weightsQ5K(v *vecState, s, h int) reg.VecVirtual {
	w, high, bit := v.i.vec(), v.i.vec(), v.masks[len(v.masks)-1]
	if v.i == avx512 {
		VBROADCASTI64X4(at(v.w, 48+32*s), w)
		VBROADCASTI64X4(at(v.w, 16), high)
		VPSRLVW(v.masks[1], w, w)
		left := uint32(36-2*s) % 32
		VPROLVD(table(fmt.Sprintf("rotate%d", s), append(repeat(8, left), repeat(8, (left+31)%32)...)...), high, high)
		VPANDD(bit, high, high)
		VPTERNLOGD(Imm(0xf8), v.masks[0], w, high) // high | w&nibbles
		return high
	}
	VMOVDQU(at(v.w, 48+32*s), w)
	VMOVDQU(at(v.w, 16), high)
	if h == 1 {
		VPSRLW(Imm(4), w, w)
	}
	switch b := 2*s + h; {
	case b < 4:
		VPSLLW(Imm(uint64(4-b)), high, high)
	case b > 4:
		VPSRLW(Imm(uint64(b-4)), high, high)
	}
	VPAND(v.masks[0], w, w)
	VPAND(bit, high, high)
	VPOR(high, w, w)
	return w
}

// Q2_K: 16 bytes of scale (low nibble) and minimum, 64 of quants, d, dmin.
func beginQ2K(v *vecState) {
	v.masks = v.i.vecs(1)
	VBROADCASTSS(table("threes", 0x03030303), v.masks[0])
}

func headerQ2K(v *vecState) {
	x, lo, hi, mask := XMM(), XMM(), XMM(), XMM()
	VPBROADCASTD(at(v.w, 80), x)
	VCVTPH2PS(x, x)
	d, dmin := v.i.vec(), v.i.vec()
	VBROADCASTSS(x, d)
	VMOVSHDUP(x, x)
	VBROADCASTSS(x, dmin)
	VMOVDQU(table("nibbles4", repeat(4, 0x0f0f0f0f)...), mask)
	VMOVDQU(at(v.w, 0), lo)
	v.evenFirst(lo)
	VPSRLW(Imm(4), lo, hi)
	VPAND(mask, lo, lo)
	VPAND(mask, hi, hi)
	none := func(reg.VecVirtual) {}
	v.scales = v.widen16(lo, d, VPMOVZXBD, none)
	v.mins = v.widen16(hi, dmin, VPMOVZXBD, none)
}

func weightsQ2K(v *vecState, s, h int) reg.VecVirtual { return weightsQ2KAt(v, 16, s, h) }

// weightsQ2KAt loads pairs of bits: 32 bytes are 128 columns, from low bits up.
func weightsQ2KAt(v *vecState, disp, s, h int) reg.VecVirtual {
	w, from, shift := v.i.vec(), at(v.w, disp+32*(s/2)), uint32(4*(s%2))
	if v.i == avx512 {
		VBROADCASTI64X4(from, w)
		lo, hi := shift<<16|shift, (shift+2)<<16|(shift+2)
		VPSRLVW(table(fmt.Sprintf("shiftR%x", lo), append(repeat(8, lo), repeat(8, hi)...)...), w, w)
		VPANDD(v.masks[0], w, w)
		return w
	}
	VMOVDQU(from, w)
	if n := shift + 2*uint32(h); n > 0 {
		VPSRLW(Imm(uint64(n)), w, w)
	}
	VPAND(v.masks[0], w, w)
	return w
}

// Q3_K: 32 bytes of third bits (bit b for the columns from 32b on), 64 of
// quants, 12 of 6-bit scales, d.
func beginQ3K(v *vecState) {
	v.masks = v.i.vecs(2)
	VBROADCASTSS(table("threes", 0x03030303), v.masks[0])
	VBROADCASTSS(table("fours", 0x04040404), v.masks[1])
}

// Packed scales are split in general registers, whose ports are idle.
func and64(r reg.GPVirtual, mask uint64) {
	m := GP64()
	MOVQ(U64(mask), m)
	ANDQ(m, r)
}

func copy64(r reg.GPVirtual) reg.GPVirtual {
	c := GP64()
	MOVQ(r, c)
	return c
}

func headerQ3K(v *vecState) {
	const low4, high2 = 0x0f0f0f0f0f0f0f0f, 0x3030303030303030
	first, pairs := GP64(), GP64()
	MOVQ(at(v.w, 96), first)
	MOVL(at(v.w, 104), pairs.As32())
	t := copy64(pairs)
	SHRQ(Imm(2), t)
	SHLQ(Imm(32), t)
	ORQ(t, pairs)
	second, t2 := copy64(first), copy64(pairs)
	SHRQ(Imm(4), second)
	SHLQ(Imm(4), t2)
	and64(first, low4)
	and64(second, low4)
	and64(t2, high2)
	and64(pairs, high2)
	ORQ(t2, first)
	ORQ(pairs, second)
	x, y := XMM(), XMM()
	VMOVQ(first, x)
	VMOVQ(second, y)
	VPUNPCKLQDQ(y, x, x)
	v.evenFirst(x)
	d, bias := v.i.vec(), v.i.vec()
	v.broadcastHalf(108, d)
	VBROADCASTSS(table("thirtyTwo", 32), bias)
	v.scales = v.widen16(x, d, VPMOVZXBD, func(f reg.VecVirtual) { VPSUBD(bias, f, f) })
}

// broadcastHalf loads a half into all lanes.
func (v *vecState) broadcastHalf(disp int, d reg.VecVirtual) {
	if v.i == avx512 && d.Size() == 64 {
		VPBROADCASTW(at(v.w, disp), d.AsY())
		VCVTPH2PS(d.AsY(), d)
		return
	}
	VPBROADCASTW(at(v.w, disp), d.AsX())
	VCVTPH2PS(d.AsX(), d)
}

func weightsQ3K(v *vecState, s, h int) reg.VecVirtual {
	w := weightsQ2KAt(v, 32, s, h)
	high := v.i.vec()
	b := uint32(2*s + h) // of the first 32 columns
	if v.i == avx512 {
		VBROADCASTI64X4(at(v.w, 0), high)
		left := (34 - b) % 32
		VPROLVD(table(fmt.Sprintf("rotateBy%d", left), append(repeat(8, left), repeat(8, (left+31)%32)...)...), high, high)
		VPANDD(v.masks[1], high, high)
		VPORD(high, w, w)
	} else {
		VMOVDQU(at(v.w, 0), high)
		switch {
		case b < 2:
			VPSLLW(Imm(uint64(2-b)), high, high)
		case b > 2:
			VPSRLW(Imm(uint64(b-2)), high, high)
		}
		VPAND(v.masks[1], high, high)
		VPOR(high, w, w)
	}
	return w
}

// headerIQ4XS reads d, 8 pairs of high bits and 8 nibbles, less 32.
func headerIQ4XS(v *vecState) {
	pairs, nibbles := GP64(), GP64()
	MOVWQZX(at(v.w, 2), pairs)
	MOVL(at(v.w, 4), nibbles.As32())
	spread := func(r reg.GPVirtual, shifts [3]uint64, masks [3]uint64) {
		for k, n := range shifts {
			t := copy64(r)
			SHLQ(Imm(n), t)
			ORQ(t, r)
			and64(r, masks[k])
		}
	}
	spread(nibbles, [3]uint64{16, 8, 4}, [3]uint64{0x0000ffff0000ffff, 0x00ff00ff00ff00ff, 0x0f0f0f0f0f0f0f0f})
	spread(pairs, [3]uint64{24, 12, 6}, [3]uint64{0x000000ff000000ff, 0x000f000f000f000f, 0x0303030303030303})
	SHLQ(Imm(4), pairs)
	ORQ(pairs, nibbles)
	x, y, d, bias := XMM(), YMM(), YMM(), YMM()
	VMOVQ(nibbles, x)
	VPMOVZXBD(x, y)
	VBROADCASTSS(table("thirtyTwo", 32), bias)
	VPSUBD(bias, y, y)
	VCVTDQ2PS(y, y)
	v.broadcastHalf(0, d)
	VMULPS(d, y, y)
	v.scales = []reg.VecVirtual{y}
}

func weightsIQ4XS(v *vecState, s, h int) reg.VecVirtual { return v.nibbles(8+32*s, 16, h) }

const q6High, q6Scales, q6D = 128, 192, 208

func beginQ6K(v *vecState) {
	v.masks = v.i.vecs(2)
	VBROADCASTSS(table("nibbles", 0x0f0f0f0f), v.masks[0])
	VBROADCASTSS(table("pairs", 0x30303030), v.masks[1])
	if v.i == avx512 {
		v.masks = append(v.masks, ZMM(), ZMM())
		VMOVDQU64(table("shiftL42", append(repeat(8, 0x40004), repeat(8, 0x20002)...)...), v.masks[2])
		VMOVDQU64(table("shiftR02", append(repeat(8, 0), repeat(8, 0x20002)...)...), v.masks[3])
	}
}

func headerQ6K(v *vecState) {
	x, d := XMM(), v.i.vec()
	VMOVDQU(at(v.w, q6Scales), x)
	v.evenFirst(x)
	v.broadcastHalf(q6D, d)
	v.scales = v.widen16(x, d, VPMOVSXBD, func(reg.VecVirtual) {})
}

// A step is half of 128 columns: the first takes low nibbles of 64 bytes and
// the lower 4 bits of 32 bytes of pairs, the second the high ones.
func weightsQ6K(v *vecState, s, h int) reg.VecVirtual {
	w, high := v.i.vec(), v.i.vec()
	low, pairs, second := 64*(s/2), q6High+32*(s/2), s%2 == 1
	if v.i == avx512 {
		VMOVDQU64(at(v.w, low), w)
		VBROADCASTI64X4(at(v.w, pairs), high)
		if second {
			VPSRLW(Imm(4), w, w)
			VPSRLVW(v.masks[3], high, high)
		} else {
			VPSLLVW(v.masks[2], high, high)
		}
		VPANDD(v.masks[1], high, high)
		VPTERNLOGD(Imm(0xf8), v.masks[0], w, high) // high | w&nibbles
		return high
	}
	VMOVDQU(at(v.w, low+32*h), w)
	VMOVDQU(at(v.w, pairs), high)
	if second {
		VPSRLW(Imm(4), w, w)
	}
	switch {
	case second && h == 1:
		VPSRLW(Imm(2), high, high)
	case !second:
		VPSLLW(Imm(uint64(4-2*h)), high, high)
	}
	VPAND(v.masks[0], w, w)
	VPAND(v.masks[1], high, high)
	VPOR(high, w, w)
	return w
}
