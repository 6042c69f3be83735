package dsp_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"atenia/internal/kernel/dsp"
)

// random returns n normal values.
func random[F dsp.Float](r *rand.Rand, n int) []F {
	x := make([]F, n)
	for i := range x {
		x[i] = F(r.NormFloat64())
	}
	return x
}

// cuts returns where a stream of n frames is cut, from 0 to n.
func cuts(r *rand.Rand, n int) []int {
	c := []int{0}
	for c[len(c)-1] < n {
		c = append(c, min(n, c[len(c)-1]+1+r.IntN(90)))
	}
	return c
}

// same fails when bits differ.
func same[F dsp.Float](t *testing.T, what string, got, want []F) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	for i, v := range got {
		if v != want[i] && (v == v || want[i] == want[i]) || math.Signbit(float64(v)) != math.Signbit(float64(want[i])) && v == v {
			t.Fatalf("%s: value %d is %v, want %v", what, i, v, want[i])
		}
	}
}

// TestSumsIgnoreCuts: sums over a stream are the same bits however it is cut.
func TestSumsIgnoreCuts(t *testing.T) {
	t.Run("float32", testSumCuts[float32])
	t.Run("float64", testSumCuts[float64])
}

func testSumCuts[F dsp.Float](t *testing.T) {
	const n = 1000
	r := rand.New(rand.NewPCG(1, 2))
	a, b := random[F](r, n), random[F](r, n)
	var dot, sum dsp.Lanes
	dsp.AddDot(&dot, a, b, 0)
	dsp.AddSum(&sum, a, 0)
	want := 0.0
	for i := range a {
		want += float64(a[i]) * float64(b[i])
	}
	if got := dot.Sum(); math.Abs(got-want) > 1e-12*n {
		t.Fatalf("dot product %v, want %v", got, want)
	}
	for range 20 {
		var d, s dsp.Lanes
		c := cuts(r, n)
		for k := len(c) - 1; k > 0; k-- {
			dsp.AddDot(&d, a[c[k-1]:c[k]], b[c[k-1]:c[k]], int64(c[k-1]))
			dsp.AddSum(&s, a[c[k-1]:c[k]], int64(c[k-1]))
		}
		same(t, "dot", d[:], dot[:])
		same(t, "sum", s[:], sum[:])
	}
}

// TestExtremes: peaks and numbers that are none.
func TestExtremes(t *testing.T) {
	t.Run("float32", testExtremes[float32])
	t.Run("float64", testExtremes[float64])
}

func testExtremes[F dsp.Float](t *testing.T) {
	for n := range 70 {
		x := make([]F, n)
		if dsp.Peak(x) != 0 || dsp.NotFinite(x) >= 0 || dsp.SumSquares(x) != 0 {
			t.Fatalf("%d zeros: peak %v, not finite: %d", n, dsp.Peak(x), dsp.NotFinite(x))
		}
		for i := range x {
			x[i] = -3
			if p := dsp.Peak(x); p != 3 || dsp.SumSquares(x) != 9 {
				t.Fatalf("-3 at %d of %d: peak %v", i, n, p)
			}
			for _, v := range []float64{math.Inf(1), math.Inf(-1), math.NaN()} {
				x[i] = F(v)
				if at := dsp.NotFinite(x); at != i {
					t.Fatalf("%v at %d of %d is seen at %d", v, i, n, at)
				}
			}
			if p := dsp.Peak(x); p != 0 {
				t.Fatalf("peak %v of NaN and zeros", p)
			}
			x[i] = 0
		}
	}
}
