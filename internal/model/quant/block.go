package quant

// Readers of the formats with blocks of 32 values. A product is converted to
// float32 before it is added to anything: otherwise a compiler may fuse the two
// and round once instead of twice.

import (
	"encoding/binary"
	"math"
)

func decodeQ4_0(dst []float32, src []byte) {
	for ; len(dst) >= 32; dst, src = dst[32:], src[18:] {
		d := half(src)
		lo, hi := dst[:16:16], dst[16:32:32]
		for i, b := range src[2:18] {
			lo[i] = d * float32(int32(b&15)-8)
			hi[i] = d * float32(int32(b>>4)-8)
		}
	}
}

func decodeQ4_1(dst []float32, src []byte) {
	for ; len(dst) >= 32; dst, src = dst[32:], src[20:] {
		d, m := half(src), half(src[2:])
		lo, hi := dst[:16:16], dst[16:32:32]
		for i, b := range src[4:20] {
			lo[i] = float32(d*float32(int32(b&15))) + m
			hi[i] = float32(d*float32(int32(b>>4))) + m
		}
	}
}

func decodeQ5_0(dst []float32, src []byte) {
	for ; len(dst) >= 32; dst, src = dst[32:], src[22:] {
		d, fifth := half(src), binary.LittleEndian.Uint32(src[2:])
		lo, hi := dst[:16:16], dst[16:32:32]
		for i, b := range src[6:22] {
			lo[i] = d * float32(int32(uint32(b&15)|fifth>>i&1<<4)-16)
			hi[i] = d * float32(int32(uint32(b>>4)|fifth>>(i+16)&1<<4)-16)
		}
	}
}

func decodeQ5_1(dst []float32, src []byte) {
	for ; len(dst) >= 32; dst, src = dst[32:], src[24:] {
		d, m, fifth := half(src), half(src[2:]), binary.LittleEndian.Uint32(src[4:])
		lo, hi := dst[:16:16], dst[16:32:32]
		for i, b := range src[8:24] {
			lo[i] = float32(d*float32(int32(uint32(b&15)|fifth>>i&1<<4))) + m
			hi[i] = float32(d*float32(int32(uint32(b>>4)|fifth>>(i+16)&1<<4))) + m
		}
	}
}

func decodeQ8_0(dst []float32, src []byte) {
	for ; len(dst) >= 32; dst, src = dst[32:], src[34:] {
		scaleBytes(dst[:32], half(src), src[2:34])
	}
}

func decodeQ8_1(dst []float32, src []byte) {
	for ; len(dst) >= 32; dst, src = dst[32:], src[36:] {
		scaleBytes(dst[:32], half(src), src[4:36])
	}
}

// scaleBytes writes d times the signed bytes of q.
func scaleBytes(dst []float32, d float32, q []byte) {
	dst = dst[:len(q)]
	for i, b := range q {
		dst[i] = d * float32(int8(b))
	}
}

// iq4 is the codebook of IQ4_NL and IQ4_XS.
var iq4 = [16]int8{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}

func decodeIQ4_NL(dst []float32, src []byte) {
	for ; len(dst) >= 32; dst, src = dst[32:], src[18:] {
		lookNibbles(dst[:32], half(src), src[2:18], &iq4)
	}
}

// lookNibbles writes d times the codebook entries of the nibbles of q, the low
// nibbles first, then the high ones.
func lookNibbles(dst []float32, d float32, q []byte, codebook *[16]int8) {
	lo, hi := dst[:16:16], dst[16:32:32]
	for i, b := range q[:16] {
		lo[i] = d * float32(codebook[b&15])
		hi[i] = d * float32(codebook[b>>4])
	}
}

// e2m1 is the codebook of MXFP4: twice the values of the OCP format with two
// exponent bits and one of fraction. Both zeros are positive.
var e2m1 = [16]int8{0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12}

// halfPower returns 2^(e-128), half of the OCP E8M0 value of the exponent byte
// e, because [e2m1] is doubled. The first two are subnormal.
func halfPower(e byte) float32 {
	if e < 2 {
		return math.Float32frombits(0x00200000 << e)
	}
	return math.Float32frombits(uint32(e-1) << 23)
}

func decodeMXFP4(dst []float32, src []byte) {
	for ; len(dst) >= 32; dst, src = dst[32:], src[17:] {
		lookNibbles(dst[:32], halfPower(src[0]), src[1:17], &e2m1)
	}
}
