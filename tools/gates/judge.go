package main

import (
	"math/rand/v2"
	"slices"
)

// Verdicts.
const (
	passes       = "passes"
	loses        = "loses"
	inconclusive = "inconclusive"
)

// quiet is how far the interval of a program's ratio to itself may be from 1.
const quiet = 0.01

// A judgement is a ratio with its interval, and that of the older program to
// itself.
type judgement struct {
	ratio, low, high  float64
	selfLow, selfHigh float64
	verdict           string
}

// ratios returns how much better y is than x, turn by turn.
func ratios(x, y []float64, less bool) []float64 {
	out := make([]float64, len(x))
	for i := range x {
		if out[i] = y[i] / x[i]; less {
			out[i] = x[i] / y[i]
		}
	}
	return out
}

// judge compares the ratios of two programs with the least permitted one, if the
// ratios of one program to itself say that the machine is quiet.
func judge(rs, self []float64, least float64) judgement {
	j := judgement{ratio: median(rs)}
	j.low, j.high = interval(rs)
	j.selfLow, j.selfHigh = interval(self)
	switch {
	case j.low >= least:
		j.verdict = passes
	case j.selfLow < 1-quiet || j.selfHigh > 1+quiet:
		j.verdict = inconclusive
	case j.high < least:
		j.verdict = loses
	default:
		j.verdict = inconclusive
	}
	return j
}

func median(xs []float64) float64 {
	s := slices.Sorted(slices.Values(xs))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}

// interval returns the 95 % bootstrap interval of the median (Efron 1979).
func interval(xs []float64) (low, high float64) {
	const draws = 2000
	rng := rand.New(rand.NewPCG(1, 2)) // equal figures give equal verdicts
	medians, draw := make([]float64, draws), make([]float64, len(xs))
	for i := range medians {
		for k := range draw {
			draw[k] = xs[rng.IntN(len(xs))]
		}
		medians[i] = median(draw)
	}
	slices.Sort(medians)
	return medians[draws/40], medians[draws-1-draws/40]
}
