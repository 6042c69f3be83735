package kerneltest_test

import (
	"flag"
	"math"
	"testing"

	"atenia/internal/kernel"
)

// step 1 takes all float32 there are and a few minutes.
var step = flag.Uint("step", 1021, "TestUlp takes every so many-th float32")

// TestUlp measures what internal/kernel/activate.go states: errors in units in the last place
// of the result, or, for gelu, in parts of |x|, over arguments whose result is
// normal. With -v it prints them.
func TestUlp(t *testing.T) {
	sigmoid := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	const normal = 0x1p-126
	for _, f := range []struct {
		name  string
		f     func(dst, src []float32)
		exact func(x float64) float64
		bound float64
		least float64 // result, in magnitude
		of    bool    // in parts of |x|
	}{
		{"exp", kernel.Exp, math.Exp, 1, normal, false},
		{"sigmoid", kernel.Sigmoid, sigmoid, 3, normal, false},
		{"tanh", kernel.Tanh, math.Tanh, 8, normal, false},
		{"silu", kernel.SiLU, func(x float64) float64 { return x * sigmoid(x) }, 3, 0x1p-120, false},
		{"gelu tanh", kernel.GELUTanh, func(x float64) float64 {
			return 0.5 * x * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
		}, 3e-7, normal, true},
		{"gelu erf", kernel.GELUErf, func(x float64) float64 { return 0.5 * x * (1 + math.Erf(x/math.Sqrt2)) }, 3e-7, normal, true},
	} {
		var x, y [4096]float32
		worst, at := 0.0, float32(0)
		for bits, n := uint64(0), 0; bits < 1<<32; bits += uint64(*step) {
			x[n] = math.Float32frombits(uint32(bits))
			if n++; n < len(x) {
				continue
			}
			n = 0
			f.f(y[:], x[:])
			for i, v := range y {
				want := f.exact(float64(x[i]))
				if a := math.Abs(want); a < f.least || a > math.MaxFloat32 || x[i] != x[i] {
					continue
				}
				unit := math.Ldexp(1, math.Ilogb(want)-23)
				if f.of {
					unit = math.Abs(float64(x[i]))
				}
				if e := math.Abs(float64(v)-want) / unit; !(e <= worst) {
					worst, at = e, x[i]
				}
			}
		}
		t.Logf("%-10s %.3g at %g", f.name, worst, at)
		if !(worst <= f.bound) {
			t.Errorf("%s(%g) is off by %g, want at most %g", f.name, at, worst, f.bound)
		}
	}
}
