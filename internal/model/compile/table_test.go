package compile

import (
	"math"
	"slices"
	"testing"
)

func TestPlain(t *testing.T) {
	inv, long := (&RotaryTable{Dim: 8, Theta: 10000, Scaling: PlainRope}).Frequencies()
	for i, f := range inv {
		if want := math.Pow(10000, -float64(2*i)/8); math.Abs(float64(f)-want) > 1e-6*want {
			t.Errorf("pair %d: %g, want %g", i, f, want)
		}
	}
	if long != nil {
		t.Error("a plain table has no second one")
	}
}

// Llama 3 keeps short wavelengths, divides long ones and interpolates between.
func TestLlama3(t *testing.T) {
	r := &RotaryTable{Dim: 64, Theta: 500000, Scaling: Llama3, Factor: 8, Original: 8192, Low: 1, High: 4}
	inv, _ := r.Frequencies()
	plain, _ := (&RotaryTable{Dim: 64, Theta: 500000, Scaling: PlainRope}).Frequencies()
	for i := range inv {
		wave := 2 * math.Pi / float64(plain[i])
		lo, hi := plain[i]/8, plain[i]
		switch {
		case wave < 8192/4 && inv[i] != hi, wave > 8192 && inv[i] != lo, inv[i] < lo || inv[i] > hi:
			t.Errorf("pair %d of wavelength %g: %g, plain %g", i, wave, inv[i], plain[i])
		}
	}
}

// Divisors bring back the same frequencies, bit for bit.
func TestDivisors(t *testing.T) {
	for _, r := range []*RotaryTable{
		{Dim: 64, Theta: 500000, Scaling: Llama3, Factor: 8, Original: 8192, Low: 1, High: 4},
		{Dim: 32, Theta: 10000, Scaling: Yarn, Factor: 4, Original: 2048, BetaFast: 32, BetaSlow: 1},
	} {
		want, _ := r.Frequencies()
		got, _ := (&RotaryTable{Dim: r.Dim, Theta: r.Theta, Scaling: Divided, Short: r.Divisors()}).Frequencies()
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", r.Scaling, got, want)
		}
	}
}

func TestStrength(t *testing.T) {
	if ropeStrength(1, 1) != 1 || math.Abs(ropeStrength(4, 1)-(1+0.1*math.Log(4))) > 1e-15 {
		t.Error("strength")
	}
	if longRopeScale(1, 4096) != 1 || math.Abs(longRopeScale(32, 4096)-math.Sqrt(1+math.Log(32)/math.Log(4096))) > 1e-15 {
		t.Error("scale of long contexts")
	}
}
