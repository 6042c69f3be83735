package tensor

import "math"

// F16ToF32 converts an IEEE 754 half to a float32, exactly.
func F16ToF32(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	exp := uint32(h>>10) & 0x1f
	frac := uint32(h & 0x3ff)
	switch exp {
	case 0: // zero and subnormals: frac × 2⁻²⁴
		f := float32(frac) * (1.0 / (1 << 24))
		return math.Float32frombits(math.Float32bits(f) | sign)
	case 0x1f:
		return math.Float32frombits(sign | 0x7f800000 | frac<<13)
	}
	return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
}

// F32ToF16 rounds to the nearest half, ties to even. Values beyond the range
// become infinities; NaN stays NaN.
func F32ToF16(f float32) uint16 {
	b := math.Float32bits(f)
	sign := uint16(b>>16) & 0x8000
	b &= 0x7fffffff
	switch {
	case b > 0x7f800000: // NaN, kept quiet
		return sign | 0x7e00 | uint16(b>>13)&0x3ff
	case b >= 0x477ff000: // rounds to 2^16 or more
		return sign | 0x7c00
	case b >= 0x38800000: // normal
		return sign | uint16((b-0x38000000+0xfff+(b>>13)&1)>>13)
	}
	// Subnormal: adding 0.5 aligns the value so that the addition itself rounds
	// to multiples of 2⁻²⁴, to nearest even.
	return sign | uint16(math.Float32bits(math.Float32frombits(b)+0.5)-0x3f000000)
}

// BF16ToF32 converts a bfloat16 to a float32, exactly.
func BF16ToF32(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }

// F32ToBF16 rounds to the nearest bfloat16, ties to even. NaN stays NaN.
func F32ToBF16(f float32) uint16 {
	b := math.Float32bits(f)
	if b&0x7fffffff > 0x7f800000 {
		return uint16(b>>16) | 0x40
	}
	return uint16((b + 0x7fff + (b>>16)&1) >> 16)
}
