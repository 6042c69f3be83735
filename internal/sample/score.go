package sample

import "math"

// logSum returns log Σ exp(x), without overflow.
func logSum(logits []float32) float64 {
	top := math.Inf(-1)
	for _, x := range logits {
		top = max(top, float64(x))
	}
	sum := 0.0
	for _, x := range logits {
		sum += math.Exp(float64(x) - top)
	}
	return top + math.Log(sum)
}

// TokenLogProb returns the natural logarithm of the probability of a token.
func TokenLogProb(logits []float32, token int32) float64 {
	return float64(logits[token]) - logSum(logits)
}

// A Sum is a running mean with its standard error.
type Sum struct {
	N             int
	sum, ofSquare float64
}

// Add adds a value.
func (s *Sum) Add(x float64) {
	s.N++
	s.sum += x
	s.ofSquare += x * x
}

// Mean returns the mean, 0 of nothing.
func (s *Sum) Mean() float64 {
	if s.N == 0 {
		return 0
	}
	return s.sum / float64(s.N)
}

// Error returns the standard error of the mean, 0 of fewer than two values.
func (s *Sum) Error() float64 {
	if s.N < 2 {
		return 0
	}
	n := float64(s.N)
	return math.Sqrt(max(0, s.ofSquare/n-s.Mean()*s.Mean()) / (n - 1))
}
