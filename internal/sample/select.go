package sample

import "math"

// argmaxLogits returns the most likely token, the lowest id among equals.
func argmaxLogits(logits []float32) (int32, error) {
	b, high := 0, negInf
	for i, l := range logits {
		if !(l <= high) { // larger or NaN
			if !(l <= math.MaxFloat32) {
				return 0, &LogitsError{i, l}
			}
			b, high = i, l
		}
	}
	if high == negInf {
		return 0, ErrNoToken
	}
	return int32(b), nil
}

// pickBlocks is how many partial sums pick keeps.
const pickBlocks = 512

// pick draws a candidate with the probability that its logit gives it and
// returns its index. Partial sums find the block that the draw falls into, so
// that the exponentials are computed once, but for one block.
func (s *Sampler) pick() int {
	u := float64(s.rng.Uint64()>>11) * 0x1p-53 // [0, 1)
	high := float64(s.c[best(s.c)].logit)
	size := (len(s.c) + pickBlocks - 1) / pickBlocks
	var sums [pickBlocks]float64
	total := 0.0
	for b := 0; b*size < len(s.c); b++ {
		for _, x := range s.c[b*size : min((b+1)*size, len(s.c))] {
			sums[b] += math.Exp(float64(x.logit) - high)
		}
		total += sums[b]
	}
	u *= total
	b := 0
	for b < pickBlocks-1 && u >= sums[b] {
		u -= sums[b]
		b++
	}
	last := -1
	for i := min(b*size, len(s.c)); i < len(s.c); i++ {
		if w := math.Exp(float64(s.c[i].logit) - high); w > 0 {
			last = i
			if u < w {
				return i
			}
			u -= w
		}
	}
	if last < 0 { // rounding took the draw behind the last block
		last = best(s.c)
	}
	return last
}

// logSumExp returns log Σ exp(logit); high is the largest logit.
func logSumExp(c []candidate, high float64) float64 {
	sum := 0.0
	for i := range c {
		sum += math.Exp(float64(c[i].logit) - high)
	}
	return high + math.Log(sum)
}

// logNorm is logSumExp over all logits.
func logNorm(logits []float32) float64 {
	high := negInf
	for _, l := range logits {
		high = max(high, l)
	}
	sum := 0.0
	for _, l := range logits {
		sum += math.Exp(float64(l) - float64(high))
	}
	return float64(high) + math.Log(sum)
}
