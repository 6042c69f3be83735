package sample

import "math"

// argmaxLogits returns the most likely token, the lowest id among equals.
func argmaxLogits(logits []float32) (int32, error) {
	b, high := 0, negInf
	for i := 0; ; i++ {
		i += below(logits[i:], high)
		if i == len(logits) {
			break
		}
		if !(logits[i] <= math.MaxFloat32) {
			return 0, &LogitsError{i, logits[i]}
		}
		b, high = i, logits[i]
	}
	if high == negInf {
		return 0, errNoToken
	}
	return int32(b), nil
}

// below returns the index of the first value that is larger than high or NaN.
// Nearly all values are below, so it compares eight at a time.
func below(x []float32, high float32) int {
	i := 0
	for ; i+8 <= len(x); i += 8 {
		y := (*[8]float32)(x[i:])
		if !(y[0] <= high && y[1] <= high && y[2] <= high && y[3] <= high && y[4] <= high && y[5] <= high && y[6] <= high && y[7] <= high) {
			break
		}
	}
	for i < len(x) && x[i] <= high {
		i++
	}
	return i
}

// pickBlocks is the number of partial sums in pick.
const pickBlocks = 512

// pick draws a candidate with probability proportional to exp(logit) and returns
// its index. Partial sums locate the block of the draw, so that exponentials are
// computed twice only for that block.
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
	if last < 0 { // rounding put the draw past the last block
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
