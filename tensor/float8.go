package tensor

import "math"

// MaxE4M3 is the largest finite value of [F8E4M3].
const MaxE4M3 = 448

// Bits of float32 values that conversion to E4M3 compares with.
const (
	maxE4M3Bits  = 0x43E00000 // 448
	overE4M3Bits = 0x43F00000 // 480, which would be the code of NaN
	minE4M3Bits  = 0x3C800000 // 2⁻⁶, the smallest normal
	infBits      = 0x7F800000
)

// e4m3 has the values of the 256 codes of the OCP 8-bit format with 4 exponent
// bits (the "fn" variant): bias 7, no infinities, NaN with all bits set.
var e4m3 = func() (t [256]float32) {
	for i := range 128 {
		v := math.Ldexp(float64(i&7), -9)
		if i >= 8 {
			v = math.Ldexp(float64(8+i&7), i>>3-10)
		}
		if i == 127 {
			v = math.NaN()
		}
		t[i], t[i+128] = float32(v), float32(math.Copysign(v, -1))
	}
	return t
}()

// E4M3ToF32 converts an 8-bit float to float32, exactly.
func E4M3ToF32(code byte) float32 { return e4m3[code] }

// DecodeE4M3 converts codes to float32.
func DecodeE4M3(dst []float32, src []byte) {
	dst = dst[:len(src)]
	for i, c := range src {
		dst[i] = e4m3[c]
	}
}

// F32ToE4M3 rounds to the nearest 8-bit float, ties to even. Values beyond ±448
// and infinities become ±448; NaN stays NaN with its sign.
func F32ToE4M3(f float32) byte { return roundE4M3(math.Float32bits(f), maxE4M3Bits) }

// EncodeE4M3 converts like [F32ToE4M3]. If saturate is false, values that round
// beyond ±448 become NaN.
func EncodeE4M3(dst []byte, src []float32, saturate bool) {
	dst = dst[:len(src)]
	most := uint32(overE4M3Bits)
	if saturate {
		most = maxE4M3Bits
	}
	for i, f := range src {
		dst[i] = roundE4M3(math.Float32bits(f), most)
	}
}

// roundE4M3 converts the bits of a float32 whose magnitude is cut to most. The
// addition of 2²⁰ times the power of two below the value leaves three bits of
// mantissa, rounded by the processor; below 2⁻⁶ the power stays, and the same
// sum is a count of subnormal steps. There are no branches, so that mixed
// magnitudes cost the same.
func roundE4M3(b, most uint32) byte {
	u := b &^ (1 << 31)
	nan := (infBits - u) >> 31
	u = min(u, most)
	e := max(u&infBits, minE4M3Bits)
	shift := e + 20<<23
	steps := math.Float32bits(math.Float32frombits(u)+math.Float32frombits(shift)) - shift
	return byte(steps + e>>20 - 121<<3 | nan | b>>31<<7)
}
