package kernel

import (
	"encoding/binary"

	"atenia/tensor"
)

// PackRow writes row r of a chunk. Four codes of a row form a word of a vector;
// words are moved and their bits merged without regard to their order within the
// source block, which differs between formats.
func (ch *chunk) PackRow(d tensor.DType, r int, src []byte) {
	values, bytes := d.Block()
	if values == 32 {
		for k := 0; len(src) > 0; k, src = k+1, src[bytes:] {
			codes, scales := ch.cell(k%8, k/8)
			packBlock32(codes[4*r:], scales, d, r, src[:bytes])
		}
		return
	}
	for i := 0; len(src) > 0; i, src = i+1, src[bytes:] {
		packBlock256(ch, d, i, r, src[:bytes])
	}
}

func put(b []byte, w uint32) { binary.LittleEndian.PutUint32(b, w) }

func packBlock32(codes, scales []byte, d tensor.DType, r int, src []byte) {
	switch d {
	case tensor.Q8_0:
		copy(scales[2*r:2*r+2], src)
		src = src[2:34]
		codes = codes[:7*64+4]
		for k := range 8 {
			put(codes[64*k:], word(src[4*k:])^0x80808080)
		}
	case tensor.Q4_0, tensor.IQ4_NL:
		copy(scales[2*r:2*r+2], src)
		packNibbles(codes, src[2:])
	case tensor.Q4_1:
		packHalves(scales, r, src)
		packNibbles(codes, src[4:])
	case tensor.Q5_0:
		copy(scales[2*r:2*r+2], src)
		packNibbles(codes, src[6:])
		packFifth(codes, word(src[2:]))
	case tensor.Q5_1:
		packHalves(scales, r, src)
		packNibbles(codes, src[8:])
		packFifth(codes, word(src[4:]))
	case tensor.MXFP4:
		scales[r] = src[0]
		packNibbles(codes, src[1:])
	}
}

// packHalves writes a scale and a negated minimum, which products add.
func packHalves(scales []byte, r int, src []byte) {
	w := word(src) ^ 0x80000000
	binary.LittleEndian.PutUint16(scales[2*r:], uint16(w))
	binary.LittleEndian.PutUint16(scales[32+2*r:], uint16(w>>16))
}

// packNibbles copies 16 bytes: the source has columns 0 to 15 low and 16 to 31
// high, like a cell.
func packNibbles(codes, src []byte) {
	codes, src = codes[:3*64+4], src[:16]
	for k := range 4 {
		put(codes[64*k:], word(src[4*k:]))
	}
}

// packFifth writes bit c of high to bit c/4 of byte c%4.
func packFifth(codes []byte, high uint32) {
	w := uint32(0)
	for k := range 8 {
		w |= spread4(high>>(4*k)) << k
	}
	put(codes[4*64:], w)
}

func packBlock256(ch *chunk, d tensor.DType, i, r int, src []byte) {
	of256 := ch.Blocks[i*ch.block+2*r:]
	switch d {
	case tensor.Q4_K, tensor.Q5_K:
		copy(of256[:2], src)
		copy(of256[32:34], src[2:])
		packQ4_K(ch, d, i, r, src)
	case tensor.IQ4_XS:
		copy(of256[:2], src)
		high := binary.LittleEndian.Uint16(src[2:])
		for b := range 8 {
			codes, scales := ch.cell(b, i)
			scales[r] = src[4+b/2]>>(b%2*4)&15 | byte(high>>(2*b)&3)<<4 - 32
			packNibbles(codes[4*r:], src[8+16*b:])
		}
	case tensor.Q6_K:
		copy(of256[:2], src[208:])
		for b := range 8 {
			codes, scales := ch.cell(b, i)
			scales[r], scales[16+r] = src[192+2*b], src[193+2*b]
			packQ6_K(codes[4*r:], src[64*(b/4):][:64], src[128+32*(b/4):][:32], b%4)
		}
	case tensor.Q3_K:
		copy(of256[:2], src[108:])
		sc := src[96:108]
		for b := range 8 {
			codes, scales := ch.cell(b, i)
			for h := range 2 {
				g := 2*b + h
				scales[16*h+r] = sc[g%8]>>(g/8*4)&15 | sc[8+g%4]>>(g/4*2)&3<<4 - 32
			}
			packPairs(codes[4*r:], src[32+32*(b/4):][:32], b%4)
			packBit(codes[2*64+4*r:], src[:32], b)
		}
	case tensor.Q2_K:
		copy(of256[:2], src[80:])
		copy(of256[32:34], src[82:])
		for b := range 8 {
			codes, scales := ch.cell(b, i)
			scales[r], scales[16+r] = src[2*b], src[2*b+1]
			packPairs(codes[4*r:], src[16+32*(b/4):][:32], b%4)
		}
	}
}

// packQ4_K packs Q4_K and Q5_K: 32 bytes hold 32 columns low and 32 high.
func packQ4_K(ch *chunk, d tensor.DType, i, r int, src []byte) {
	sc, low := src[4:16], src[16:]
	if d == tensor.Q5_K {
		low = src[48:]
	}
	for b := range 8 {
		codes, scales := ch.cell(b, i)
		s, m := sc[b%4]&63, sc[b%4+4]&63
		if b >= 4 {
			s, m = sc[b+4]&15|sc[b-4]>>6<<4, sc[b+4]>>4|sc[b]>>6<<4
		}
		scales[r], scales[16+r] = s, m
		codes = codes[4*r:]
		q := low[32*(b/2):][:32]
		for k := range 4 {
			v, u := word(q[4*k:])>>(b%2*4), word(q[4*k+16:])>>(b%2*4)
			put(codes[64*k:], v&0x0f0f0f0f|u&0x0f0f0f0f<<4)
		}
		if d == tensor.Q5_K {
			packBit(codes[4*64:], src[16:48], b)
		}
	}
}

// packQ6_K packs 32 of 128 columns, which are quarter j of high and half j%2
// of low, its low nibbles or its high ones.
func packQ6_K(codes, low, high []byte, j int) {
	low = low[j%2*32:][:32]
	for k := range 4 {
		v, u := word(low[4*k:])>>(j/2*4), word(low[4*k+16:])>>(j/2*4)
		put(codes[64*k:], v&0x0f0f0f0f|u&0x0f0f0f0f<<4)
	}
	packPairs(codes[4*64:], high, j)
}

// packPairs packs bit pair j of 32 bytes: four groups of four columns share a
// vector.
func packPairs(codes, src []byte, j int) {
	src = src[:32]
	for v := range 2 {
		w := uint32(0)
		for k := range 4 {
			w |= word(src[16*v+4*k:]) >> (2 * j) & 0x03030303 << (2 * k)
		}
		put(codes[64*v:], w)
	}
}

// packBit packs bit b of 32 bytes: all eight groups of four columns share a
// vector.
func packBit(codes, src []byte, b int) {
	src = src[:32]
	w := uint32(0)
	for k := range 8 {
		w |= word(src[4*k:]) >> b & 0x01010101 << k
	}
	put(codes, w)
}
