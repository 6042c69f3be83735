package dsp_test

import (
	"math"
	"testing"

	"atenia/internal/kernel/dsp"
)

// TestTurn compares the sine and cosine of a phase with those of package math.
func TestTurn(t *testing.T) {
	t.Parallel()
	for i := range 100001 {
		x := float64(i) / 100000
		sin, cos := dsp.Turn(x)
		wantSin, wantCos := math.Sincos(2 * math.Pi * x)
		if math.Abs(sin-wantSin) > 1e-15 || math.Abs(cos-wantCos) > 1e-15 || dsp.SinTurn(x) != sin {
			t.Fatalf("Turn(%g) = %g, %g, want %g, %g; SinTurn %g", x, sin, cos, wantSin, wantCos, dsp.SinTurn(x))
		}
	}
}

func BenchmarkTurn(b *testing.B) {
	sum := 0.0
	for b.Loop() {
		for i := range 100 {
			sum += dsp.SinTurn(float64(i) / 100)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(100*b.N), "ns/sine")
	if sum > 1e300 {
		b.Fatal(sum)
	}
}
