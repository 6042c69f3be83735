package quant

// Readers of the formats with blocks of 256 values and two levels of scales.

import (
	"encoding/binary"
	"math"
)

func decodeQ2_K(dst []float32, src []byte) {
	for ; len(dst) >= 256; dst, src = dst[256:], src[84:] {
		d, dm := half(src[80:]), half(src[82:])
		for s := range 16 { // runs of 16 values
			scale, offset := d*float32(src[s]&15), float32(dm*float32(src[s]>>4))
			shift := s / 2 % 4 * 2
			out := dst[16*s : 16*s+16]
			for i, b := range src[16+s/8*32+s%2*16:][:16] {
				out[i] = float32(scale*float32(int32(b>>shift&3))) - offset
			}
		}
	}
}

// scalesQ3 unpacks the sixteen 6-bit scales of Q3_K: byte i of the first
// eight holds the low four bits of scales i and i+8, byte 8+i the high two
// bits of scales i, i+4, i+8 and i+12.
func scalesQ3(p []byte) (s [16]int8) {
	for i := range s {
		low := p[i%8] >> (i / 8 * 4) & 15
		high := p[8+i%4] >> (i / 4 * 2) & 3
		s[i] = int8(low|high<<4) - 32
	}
	return s
}

func decodeQ3_K(dst []float32, src []byte) {
	for ; len(dst) >= 256; dst, src = dst[256:], src[110:] {
		d, scales := half(src[108:]), scalesQ3(src[96:108])
		for s := range 16 {
			scale := d * float32(scales[s])
			shift, bit := s/2%4*2, s/2
			out := dst[16*s : 16*s+16]
			high := src[s%2*16:][:16]
			for i, b := range src[32+s/8*32+s%2*16:][:16] {
				out[i] = scale * float32(int32(b>>shift&3|high[i]>>bit&1<<2)-4)
			}
		}
	}
}

// scalesQ4 unpacks the eight 6-bit scales and eight 6-bit minima of Q4_K and
// Q5_K; the package comment has a drawing.
func scalesQ4(p []byte) (s, m [8]uint8) {
	for i := range 4 {
		s[i], m[i] = p[i]&63, p[4+i]&63
		s[4+i] = p[8+i]&15 | p[i]>>6<<4
		m[4+i] = p[8+i]>>4 | p[4+i]>>6<<4
	}
	return s, m
}

func decodeQ4_K(dst []float32, src []byte) {
	for ; len(dst) >= 256; dst, src = dst[256:], src[144:] {
		d, dm := half(src), half(src[2:])
		scales, minima := scalesQ4(src[4:16])
		for c := range 4 { // chunks of 64 values
			s0, m0 := d*float32(scales[2*c]), float32(dm*float32(minima[2*c]))
			s1, m1 := d*float32(scales[2*c+1]), float32(dm*float32(minima[2*c+1]))
			lo, hi := dst[64*c:64*c+32], dst[64*c+32:64*c+64]
			for i, b := range src[16+32*c:][:32] {
				lo[i] = float32(s0*float32(int32(b&15))) - m0
				hi[i] = float32(s1*float32(int32(b>>4))) - m1
			}
		}
	}
}

func decodeQ5_K(dst []float32, src []byte) {
	for ; len(dst) >= 256; dst, src = dst[256:], src[176:] {
		d, dm := half(src), half(src[2:])
		scales, minima := scalesQ4(src[4:16])
		fifth := src[16:48]
		for c := range 4 {
			s0, m0 := d*float32(scales[2*c]), float32(dm*float32(minima[2*c]))
			s1, m1 := d*float32(scales[2*c+1]), float32(dm*float32(minima[2*c+1]))
			lo, hi := dst[64*c:64*c+32], dst[64*c+32:64*c+64]
			for i, b := range src[48+32*c:][:32] {
				h := fifth[i] >> (2 * c)
				lo[i] = float32(s0*float32(int32(b&15|h&1<<4))) - m0
				hi[i] = float32(s1*float32(int32(b>>4|h>>1&1<<4))) - m1
			}
		}
	}
}

func decodeQ6_K(dst []float32, src []byte) {
	for ; len(dst) >= 256; dst, src = dst[256:], src[210:] {
		d, scales := half(src[208:]), src[192:208]
		for s := range 16 {
			scale := d * float32(int8(scales[s]))
			quarter := s / 2 % 4 // of a chunk of 128 values
			low := src[s/8*64+quarter%2*32+s%2*16:][:16]
			high := src[128+s/8*32+s%2*16:][:16]
			out := dst[16*s : 16*s+16]
			shift, up := quarter/2*4, quarter*2
			for i, b := range low {
				out[i] = scale * float32(int32(b>>shift&15|high[i]>>up&3<<4)-32)
			}
		}
	}
}

func decodeQ8_K(dst []float32, src []byte) {
	for ; len(dst) >= 256; dst, src = dst[256:], src[292:] {
		d := math.Float32frombits(binary.LittleEndian.Uint32(src))
		scaleBytes(dst[:256], d, src[4:260])
	}
}

func decodeIQ4_XS(dst []float32, src []byte) {
	for ; len(dst) >= 256; dst, src = dst[256:], src[136:] {
		d, high := half(src), binary.LittleEndian.Uint16(src[2:])
		for s := range 8 {
			scale := int32(src[4+s/2]>>(s%2*4)&15) | int32(high>>(2*s)&3<<4)
			lookNibbles(dst[32*s:32*s+32], d*float32(scale-32), src[8+16*s:24+16*s], &iq4)
		}
	}
}
