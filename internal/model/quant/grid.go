package quant

// Readers of the lattice formats: eight (or four) values at a time are a
// point of a table, a sign mask and a scale. The points are in zgrid.go.

import (
	"encoding/binary"
	"math/bits"

	"atenia/tensor"
)

// sevenSigns returns the sign mask encoded in seven bits: the eighth makes the
// number of minus signs even.
func sevenSigns(s uint32) uint8 {
	s &= 127
	return uint8(s) | uint8(bits.OnesCount8(uint8(s))&1)<<7
}

// signed8 writes scale times the eight bytes of a point, with signs.
func signed8(dst []float32, scale float32, point uint64, signs uint8) {
	dst = dst[:8]
	for i := range dst {
		v := scale * float32(uint8(point>>(8*i)))
		if signs>>i&1 != 0 {
			v = -v
		}
		dst[i] = v
	}
}

func decodeIQ2_XXS(dst []float32, src []byte) {
	for ; len(dst) >= 256; dst, src = dst[256:], src[66:] {
		d := half(src)
		for s := range 8 {
			points, rest := src[2+8*s:6+8*s], binary.LittleEndian.Uint32(src[6+8*s:])
			scale := d * (0.5 + float32(rest>>28)) * 0.25
			for i, p := range points {
				signed8(dst[32*s+8*i:], scale, gridIQ2XXS[p], sevenSigns(rest>>(7*i)))
			}
		}
	}
}

// quarterScale is the scale of runs of 16 values in IQ2_XS and IQ2_S: a
// nibble of p for each.
func quarterScale(d float32, p []byte, run int) float32 {
	return d * (0.5 + float32(p[run/2]>>(run%2*4)&15)) * 0.25
}

func decodeIQ2_XS(dst []float32, src []byte) {
	for ; len(dst) >= 256; dst, src = dst[256:], src[74:] {
		d := half(src)
		for i := range 32 {
			q := binary.LittleEndian.Uint16(src[2+2*i:])
			signed8(dst[8*i:], quarterScale(d, src[66:74], i/2), gridIQ2XS[q&511], sevenSigns(uint32(q>>9)))
		}
	}
}

func decodeIQ2_S(dst []float32, src []byte) {
	for ; len(dst) >= 256; dst, src = dst[256:], src[82:] {
		d := half(src)
		for i := range 32 {
			q := uint16(src[2+i]) | uint16(src[66+i/4]>>(i%4*2)&3)<<8
			signed8(dst[8*i:], quarterScale(d, src[74:82], i/2), gridIQ2S[q], src[34+i])
		}
	}
}

func decodeIQ3_XXS(dst []float32, src []byte) {
	for ; len(dst) >= 256; dst, src = dst[256:], src[98:] {
		d := half(src)
		for s := range 8 {
			points, rest := src[2+8*s:10+8*s], binary.LittleEndian.Uint32(src[66+4*s:])
			scale := d * (0.5 + float32(rest>>28)) * 0.5
			for i := range 4 {
				p := uint64(gridIQ3XXS[points[2*i]]) | uint64(gridIQ3XXS[points[2*i+1]])<<32
				signed8(dst[32*s+8*i:], scale, p, sevenSigns(rest>>(7*i)))
			}
		}
	}
}

func decodeIQ3_S(dst []float32, src []byte) {
	for ; len(dst) >= 256; dst, src = dst[256:], src[110:] {
		d := half(src)
		for i := range 32 {
			scale := d * float32(1+2*int32(src[106+i/8]>>(i/4%2*4)&15))
			ninth := uint16(src[66+i/4]) >> (i % 4 * 2)
			p := uint64(gridIQ3S[uint16(src[2+2*i])|ninth&1<<8]) |
				uint64(gridIQ3S[uint16(src[3+2*i])|ninth>>1&1<<8])<<32
			signed8(dst[8*i:], scale, p, src[74+i])
		}
	}
}

// iq1Shift moves the points of IQ1_S and IQ1_M off the integers.
const iq1Shift = 0.125

// shifted8 writes scale times the eight signed bytes of a point, each moved by
// shift.
func shifted8(dst []float32, scale float32, point uint64, shift float32) {
	dst = dst[:8]
	for i := range dst {
		dst[i] = scale * (float32(int8(point>>(8*i))) + shift)
	}
}

func decodeIQ1_S(dst []float32, src []byte) {
	for ; len(dst) >= 256; dst, src = dst[256:], src[50:] {
		d := half(src)
		for i := range 32 {
			h := binary.LittleEndian.Uint16(src[34+i/4*2:])
			shift := float32(iq1Shift)
			if h&0x8000 != 0 {
				shift = -iq1Shift
			}
			q := uint16(src[2+i]) | h>>(i%4*3)&7<<8
			shifted8(dst[8*i:], d*float32(2*int32(h>>12&7)+1), gridIQ1[q], shift)
		}
	}
}

// decodeIQ1_M reads a half-precision scale that is split into four nibbles, the
// top ones of four 16-bit words; each word's other bits are four 3-bit scales,
// one for 16 values.
func decodeIQ1_M(dst []float32, src []byte) {
	for ; len(dst) >= 256; dst, src = dst[256:], src[56:] {
		var words [4]uint16
		var h uint16
		for i := range words {
			words[i] = binary.LittleEndian.Uint16(src[48+2*i:])
			h |= words[i] >> 12 << (4 * i)
		}
		d := tensor.F16ToF32(h)
		for i := range 32 {
			run := i / 2
			scale := d * float32(2*int32(words[run/4]>>(run%4*3)&7)+1)
			nibble := src[32+i/2] >> (i % 2 * 4)
			shift := float32(iq1Shift)
			if nibble&8 != 0 {
				shift = -iq1Shift
			}
			shifted8(dst[8*i:], scale, gridIQ1[uint16(src[i])|uint16(nibble&7)<<8], shift)
		}
	}
}
