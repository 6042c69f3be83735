package tensor_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"atenia/tensor"
)

// nearest is the definition: the finite code of smallest distance, the even one
// of two, with the rules for what is too large.
func nearest(x float32, saturate bool) byte {
	var sign byte
	if math.Signbit(float64(x)) {
		sign = 0x80
	}
	m := math.Abs(float64(x))
	switch {
	case m != m:
		return sign | 0x7F
	case m > 464 && !saturate: // halfway to the value 480 that is not there; the tie is even
		return sign | 0x7F
	case m >= tensor.MaxE4M3:
		return sign | 0x7E
	}
	lo, hi := 0, 0x7E
	for hi-lo > 1 {
		mid := (lo + hi) / 2
		if float64(tensor.E4M3ToF32(byte(mid))) <= m {
			lo = mid
		} else {
			hi = mid
		}
	}
	below, above := m-float64(tensor.E4M3ToF32(byte(lo))), float64(tensor.E4M3ToF32(byte(hi)))-m
	if above < below || above == below && hi&1 == 0 {
		lo = hi
	}
	return sign | byte(lo)
}

// TestE4M3: all codes, all halves, midpoints with their neighbours and a million
// floats, in both modes.
func TestE4M3(t *testing.T) {
	var x []float32
	for c := range 256 {
		v := tensor.E4M3ToF32(byte(c))
		x = append(x, v)
		if c&0x7F < 0x7E {
			mid := (v + tensor.E4M3ToF32(byte(c+1))) / 2
			x = append(x, mid, math.Nextafter32(mid, 0), math.Nextafter32(mid, 1e9), math.Nextafter32(mid, -1e9))
		}
		if v == v && tensor.F32ToE4M3(v) != byte(c) {
			t.Errorf("code %#x is %v, encoded %#x", c, v, tensor.F32ToE4M3(v))
		}
	}
	for h := range 1 << 16 {
		x = append(x, tensor.F16ToF32(uint16(h)))
	}
	for _, v := range []float64{464, 480, 1e30, math.Inf(1), math.NaN(), 0, 0x1p-10, 0x1p-149} {
		f := float32(v)
		x = append(x, f, -f, math.Nextafter32(f, 1e9), math.Nextafter32(f, 0))
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 1 << 20 {
		x = append(x, float32(r.NormFloat64()*math.Exp2(float64(r.IntN(26)-15))))
	}
	for range 1 << 16 {
		x = append(x, math.Float32frombits(r.Uint32()))
	}
	codes := make([]byte, len(x))
	for _, saturate := range []bool{true, false} {
		tensor.EncodeE4M3(codes, x, saturate)
		for i, v := range x {
			if want := nearest(v, saturate); codes[i] != want {
				t.Fatalf("saturate %v: %v (%#x) is %#x, want %#x", saturate, v, math.Float32bits(v), codes[i], want)
			}
		}
	}
}

func BenchmarkE4M3(b *testing.B) {
	x, codes := make([]float32, 1<<16), make([]byte, 1<<16)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range x {
		x[i] = float32(r.NormFloat64() * math.Exp2(float64(r.IntN(16)-12)))
	}
	b.Run("encode", func(b *testing.B) {
		b.SetBytes(int64(4 * len(x)))
		for b.Loop() {
			tensor.EncodeE4M3(codes, x, true)
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.SetBytes(int64(4 * len(x)))
		for b.Loop() {
			tensor.DecodeE4M3(x, codes)
		}
	})
}
