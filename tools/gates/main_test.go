package main

import (
	"math/rand/v2"
	"testing"
)

// TestJudge: a loss is found on a quiet machine alone, and noise is no loss.
func TestJudge(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	around := func(center, spread float64) []float64 {
		out := make([]float64, 30)
		for i := range out {
			out[i] = center * (1 + spread*rng.NormFloat64())
		}
		return out
	}
	for _, x := range []struct {
		name         string
		ratio, noise float64
		want         string
	}{
		{"the same", 1, 0.002, passes},
		{"a gain", 1.1, 0.05, passes},
		{"a permitted loss", 0.99, 0.002, passes},
		{"a loss", 0.95, 0.002, loses},
		{"a loss on a busy machine", 0.95, 0.1, inconclusive},
		{"noise", 0.98, 0.1, inconclusive},
	} {
		j := judge(around(x.ratio, x.noise), around(1, x.noise), 0.98)
		if j.verdict != x.want {
			t.Errorf("%s: %+v, want %s", x.name, j, x.want)
		}
	}
}

func TestRatios(t *testing.T) {
	if r := ratios([]float64{2, 4}, []float64{4, 1}, false); r[0] != 2 || r[1] != 0.25 {
		t.Error(r)
	}
	if r := ratios([]float64{2, 4}, []float64{4, 1}, true); r[0] != 0.5 || r[1] != 4 {
		t.Error("less is better:", r)
	}
	if m := median([]float64{3, 1, 2, 10}); m != 2.5 {
		t.Error(m)
	}
}
