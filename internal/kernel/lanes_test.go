package kernel

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// exactFMA rounds the exact a·b+c once.
func exactFMA(a, b, c float32) float32 {
	f := func(x float32) *big.Float { return new(big.Float).SetPrec(1000).SetFloat64(float64(x)) }
	s := f(a)
	s.Mul(s, f(b)).Add(s, f(c))
	r, _ := s.Float32()
	return r
}

// huge is no constant: those the compiler multiplies, instead of fusing.
var huge = float32(math.MaxFloat32)

func TestFMA(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	check := func(a, b, c float32) {
		if got, want := FMA(a, b, c), exactFMA(a, b, c); got != want {
			t.Fatalf("fma(%x, %x, %x) = %x, want %x", a, b, c, got, want)
		}
	}
	small := func() float32 {
		return float32(int32(r.Uint32())>>(8+r.IntN(20))) * float32(math.Ldexp(1, r.IntN(60)-30))
	}
	rounds := 200_000
	if testing.Short() { // as under an emulator
		rounds = 20_000
	}
	for range rounds {
		check(small(), small(), small())
		// c is halfway between two numbers or nearly so, and a much smaller
		// product decides the rounding.
		c := float32(r.IntN(1<<24) | 1<<23)
		check(0.5, float32(1+2*r.IntN(2)), c)
		check(0.5+float32(math.Ldexp(float64(r.IntN(3)-1), -24)), 1+float32(math.Ldexp(float64(r.IntN(3)-1), -23)), c)
		check(small()*0x1p-70, small()*0x1p-70, small()*0x1p-130)
	}
	if v := FMA(float32(math.Inf(1)), 0, 1); v == v {
		t.Error("∞·0 is no number")
	}
	if v := FMA(huge, huge, float32(math.Inf(-1))); !math.IsInf(float64(v), -1) {
		t.Error("an infinite addend wins")
	}
}
