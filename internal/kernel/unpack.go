package kernel

import (
	"encoding/binary"
	"math"

	"atenia/tensor"
)

// Cols is the number of columns in an [UnpackedBlock].
const Cols = 256

// UnpackedBlock holds 256 weights of any block format: value i is S[i/16]·Q[i] −
// M[i/16]. Products S·Q are exact in float32 for every format whose scale is a
// halfToFloat, so dequantizing rounds once, where the format prescribes.
type UnpackedBlock struct {
	Q [Cols]int8
	S [16]float32
	M [16]float32
}

// hasMins reports whether a format subtracts minima, that is, fills UnpackedBlock.M.
func hasMins(d tensor.DType) bool {
	switch d {
	case tensor.Q4_1, tensor.Q5_1, tensor.Q2_K, tensor.Q4_K, tensor.Q5_K:
		return true
	}
	return false
}

// per16 reports whether a format has a scale for every 16 columns rather than
// for 32, or for a multiple of 32.
func per16(d tensor.DType) bool {
	switch d {
	case tensor.Q2_K, tensor.Q3_K, tensor.Q6_K:
		return true
	}
	return false
}

// unpackBlock writes n columns, starting at column c, a multiple of 256, of a row of
// type d. Columns of the block past n are zeroed.
func unpackBlock(dst *UnpackedBlock, d tensor.DType, row []byte, c, n int) {
	values, bytes := d.Block()
	src := row[c/values*bytes:]
	src = src[:n/values*bytes]
	if n < Cols {
		*dst = UnpackedBlock{}
	} else if !hasMins(d) {
		dst.M = [16]float32{}
	}
	switch d { // direct calls, so that dst stays on the caller's stack
	case tensor.Q8_0:
		unpackQ8_0(dst, src)
	case tensor.Q4_0:
		unpackQ4_0(dst, src)
	case tensor.Q4_1:
		unpackQ4_1(dst, src)
	case tensor.Q5_0:
		unpackQ5_0(dst, src)
	case tensor.Q5_1:
		unpackQ5_1(dst, src)
	case tensor.Q2_K:
		unpackQ2_K(dst, src)
	case tensor.Q3_K:
		unpackQ3_K(dst, src)
	case tensor.Q4_K:
		unpackQ4_K(dst, src)
	case tensor.Q5_K:
		unpackQ5_K(dst, src)
	case tensor.Q6_K:
		unpackQ6_K(dst, src)
	case tensor.Q8_K:
		unpackQ8_K(dst, src)
	case tensor.IQ4_NL:
		unpackIQ4_NL(dst, src)
	case tensor.IQ4_XS:
		unpackIQ4_XS(dst, src)
	case tensor.MXFP4:
		unpackMXFP4(dst, src)
	}
}

func halfToFloat(b []byte) float32 { return tensor.F16ToF32(binary.LittleEndian.Uint16(b)) }

func (w *UnpackedBlock) scale32(b int, s float32) { w.S[2*b], w.S[2*b+1] = s, s }
func (w *UnpackedBlock) min32(b int, m float32)   { w.M[2*b], w.M[2*b+1] = m, m }

func unpackQ8_0(dst *UnpackedBlock, src []byte) {
	for b := 0; len(src) >= 34; b, src = b+1, src[34:] {
		dst.scale32(b, halfToFloat(src))
		q := (*[32]int8)(dst.Q[32*b:])
		for i, v := range src[2:34] {
			q[i] = int8(v)
		}
	}
}

func unpackQ4_0(dst *UnpackedBlock, src []byte) {
	for b := 0; len(src) >= 18; b, src = b+1, src[18:] {
		dst.scale32(b, halfToFloat(src))
		q := (*[32]int8)(dst.Q[32*b:])
		for i, v := range src[2:18] {
			q[i], q[i+16] = int8(v&15)-8, int8(v>>4)-8
		}
	}
}

func unpackQ4_1(dst *UnpackedBlock, src []byte) {
	for b := 0; len(src) >= 20; b, src = b+1, src[20:] {
		dst.scale32(b, halfToFloat(src))
		dst.min32(b, -halfToFloat(src[2:]))
		q := (*[32]int8)(dst.Q[32*b:])
		for i, v := range src[4:20] {
			q[i], q[i+16] = int8(v&15), int8(v>>4)
		}
	}
}

// fiveBits combines 16 bytes of nibbles with 32 high bits and subtracts bias.
func fiveBits(q []int8, high uint32, low []byte, bias int8) {
	q, low = q[:32], low[:16]
	for i, v := range low {
		q[i] = int8(v&15|byte(high>>i<<4)&16) - bias
		q[i+16] = int8(v>>4|byte(high>>(i+16)<<4)&16) - bias
	}
}

func unpackQ5_0(dst *UnpackedBlock, src []byte) {
	for b := 0; len(src) >= 22; b, src = b+1, src[22:] {
		dst.scale32(b, halfToFloat(src))
		fiveBits(dst.Q[32*b:], binary.LittleEndian.Uint32(src[2:]), src[6:], 16)
	}
}

func unpackQ5_1(dst *UnpackedBlock, src []byte) {
	for b := 0; len(src) >= 24; b, src = b+1, src[24:] {
		dst.scale32(b, halfToFloat(src))
		dst.min32(b, -halfToFloat(src[2:]))
		fiveBits(dst.Q[32*b:], binary.LittleEndian.Uint32(src[4:]), src[8:], 0)
	}
}

// unpackQ2_K reads 16 bytes of 4-bit scales and minima, 64 bytes of quants, d,
// dmin.
func unpackQ2_K(dst *UnpackedBlock, src []byte) {
	if len(src) < 84 {
		return
	}
	d, dmin := halfToFloat(src[80:]), halfToFloat(src[82:])
	for g, v := range src[:16] {
		dst.S[g], dst.M[g] = d*float32(v&15), dmin*float32(v>>4)
	}
	for h := range 2 {
		for i, v := range src[16+32*h : 48+32*h] {
			q := dst.Q[128*h+i:]
			q[0], q[32], q[64], q[96] = int8(v&3), int8(v>>2&3), int8(v>>4&3), int8(v>>6)
		}
	}
}

// unpackQ3_K reads 32 bytes of high bits (clear means minus 4), 64 bytes of low
// 2 bits, 12 bytes of 6-bit scales, d.
func unpackQ3_K(dst *UnpackedBlock, src []byte) {
	if len(src) < 110 {
		return
	}
	d, sc := halfToFloat(src[108:]), src[96:108]
	for g := range 16 {
		low := sc[g%8] >> (g / 8 * 4) & 15
		high := sc[8+g%4] >> (g / 4 * 2) & 3
		dst.S[g] = d * float32(int(low|high<<4)-32)
	}
	for h := range 2 {
		for i, v := range src[32+32*h : 64+32*h] {
			q, hi := dst.Q[128*h+i:], src[i]>>(4*h)
			for k := range 4 {
				q[32*k] = int8(v>>(2*k)&3|hi>>k&1<<2) - 4
			}
		}
	}
}

// scales6 reads the 12 bytes of eight 6-bit scales and minima of Q4_K, Q5_K.
func (w *UnpackedBlock) scales6(src []byte, d, dmin float32) {
	src = src[:12]
	for b := range 8 {
		var s, m byte
		if b < 4 {
			s, m = src[b]&63, src[b+4]&63
		} else {
			s = src[b+4]&15 | src[b-4]>>6<<4
			m = src[b+4]>>4 | src[b]>>6<<4
		}
		w.scale32(b, d*float32(s))
		w.min32(b, dmin*float32(m))
	}
}

func unpackQ4_K(dst *UnpackedBlock, src []byte) {
	if len(src) < 144 {
		return
	}
	dst.scales6(src[4:], halfToFloat(src), halfToFloat(src[2:]))
	for k := range 4 {
		q := (*[64]int8)(dst.Q[64*k:])
		for i, v := range src[16+32*k : 48+32*k] {
			q[i], q[i+32] = int8(v&15), int8(v>>4)
		}
	}
}

func unpackQ5_K(dst *UnpackedBlock, src []byte) {
	if len(src) < 176 {
		return
	}
	dst.scales6(src[4:], halfToFloat(src), halfToFloat(src[2:]))
	high := (*[32]byte)(src[16:])
	for k := range 4 {
		q := (*[64]int8)(dst.Q[64*k:])
		for i, v := range src[48+32*k : 80+32*k] {
			h := high[i] >> (2 * k)
			q[i], q[i+32] = int8(v&15|h&1<<4), int8(v>>4|h>>1&1<<4)
		}
	}
}

// unpackQ6_K reads 128 bytes of low nibbles, 64 of high pairs, 16 int8 scales,
// d.
func unpackQ6_K(dst *UnpackedBlock, src []byte) {
	if len(src) < 210 {
		return
	}
	d := halfToFloat(src[208:])
	for g, v := range src[192:208] {
		dst.S[g] = d * float32(int8(v))
	}
	for h := range 2 {
		q := (*[128]int8)(dst.Q[128*h:])
		low, high := (*[64]byte)(src[64*h:]), (*[32]byte)(src[128+32*h:])
		for i, v := range high {
			q[i] = int8(low[i]&15|v&3<<4) - 32
			q[i+32] = int8(low[i+32]&15|v>>2&3<<4) - 32
			q[i+64] = int8(low[i]>>4|v>>4&3<<4) - 32
			q[i+96] = int8(low[i+32]>>4|v>>6<<4) - 32
		}
	}
}

func unpackQ8_K(dst *UnpackedBlock, src []byte) {
	if len(src) < 292 {
		return
	}
	d := math.Float32frombits(binary.LittleEndian.Uint32(src))
	for g := range dst.S {
		dst.S[g] = d
	}
	for i, v := range src[4:260] {
		dst.Q[i] = int8(v)
	}
}

// The codebooks of the non-linear 4-bit formats (ggml-common.h). The entries of
// MXFP4 are twice the E2M1 values, and its scale is half of the E8M0 value.
var (
	iq4Values   = [16]int8{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}
	mxfp4Values = [16]int8{0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12}
)

func lookup(q []int8, src []byte, table *[16]int8) {
	q, src = q[:32], src[:16]
	for i, v := range src {
		q[i], q[i+16] = table[v&15], table[v>>4]
	}
}

func unpackIQ4_NL(dst *UnpackedBlock, src []byte) {
	for b := 0; len(src) >= 18; b, src = b+1, src[18:] {
		dst.scale32(b, halfToFloat(src))
		lookup(dst.Q[32*b:], src[2:], &iq4Values)
	}
}

// unpackIQ4_XS reads d, 8 pairs of high scale bits, 4 bytes of low ones, 128 of
// quants.
func unpackIQ4_XS(dst *UnpackedBlock, src []byte) {
	if len(src) < 136 {
		return
	}
	d, high := halfToFloat(src), binary.LittleEndian.Uint16(src[2:])
	for b := range 8 {
		low := src[4+b/2] >> (b % 2 * 4) & 15
		dst.scale32(b, d*float32(int(low)|int(high>>(2*b)&3)<<4-32))
		lookup(dst.Q[32*b:], src[8+16*b:], &iq4Values)
	}
}

func unpackMXFP4(dst *UnpackedBlock, src []byte) {
	for b := 0; len(src) >= 17; b, src = b+1, src[17:] {
		dst.scale32(b, e8m0Half(src[0]))
		lookup(dst.Q[32*b:], src[1:], &mxfp4Values)
	}
}
