package neuron

import (
	"math"

	"atenia/quila/config"
)

// Refractory is how many ticks a neuron of that confidence rests after it fired
// evaluated in float32.
func Refractory(c *config.Config, conf float32) int32 {
	return int32(math.Floor(float64(float32(c.RefBase) - float32(conf*float32(c.RefRange)))))
}

// Iterations is how many iterations stream D may run at that confidence, before
// the cap drc_max [R-5.2.10b]: bands are compared in float32, the interpolation
// is rounded to 2⁻¹⁶ and then to the even integer.
func Iterations(conf float32) int {
	c := float64(conf)
	var x float64
	switch {
	case conf > float32(.8):
		x = 2 - (c-.8)/.2
	case conf > float32(.5):
		x = 6 - 3*(c-.5)/.3
	default:
		x = 16 - 8*c/.5
	}
	return int(math.RoundToEven(math.RoundToEven(x*65536) / 65536))
}

// iterations applies the cap; phase 2 asks for 16.
func iterations(c *config.Config, conf float32, phase int) int {
	n := Iterations(conf)
	if phase == 2 {
		n = 16
	}
	return max(1, min(n, c.DRCMax))
}

// topMask marks the k largest scores; equal scores go to the smaller index.
// scratch is as long as score.
func topMask(mask []bool, score, scratch []float32, k int) {
	if k >= len(score) {
		for i := range mask {
			mask[i] = true
		}
		return
	}
	limit := kth(scratch[:copy(scratch, score)], k)
	ties := k
	for i, x := range score {
		mask[i] = x > limit
		if mask[i] {
			ties--
		}
	}
	for i, x := range score {
		if ties > 0 && x == limit {
			mask[i] = true
			ties--
		}
	}
}

// kth returns the k-th largest value, k from 1, and reorders x (C. A. R. Hoare,
// Algorithm 65: find, 1961).
func kth(x []float32, k int) float32 {
	lo, hi, at := 0, len(x)-1, k-1
	for lo < hi {
		pivot := x[(lo+hi)/2]
		i, j := lo, hi
		for i <= j {
			for x[i] > pivot {
				i++
			}
			for pivot > x[j] {
				j--
			}
			if i <= j {
				x[i], x[j] = x[j], x[i]
				i++
				j--
			}
		}
		switch {
		case at <= j:
			hi = j
		case at >= i:
			lo = i
		default:
			return x[at]
		}
	}
	return x[at]
}

// shares are α by inference phase.
var shares = [...]float64{1: .2, .5, .7, .7, .9, .9}

// Shares returns the weights α, β and γ of a utility in a phase, for
// a port's two numbers: the change of α, and the logit that divides the rest.
func Shares(phase int, deltaAlpha, raw float64) (alpha, beta, gamma float64) {
	alpha = min(max(shares[phase]+deltaAlpha, 0), 1)
	b := 1 / (1 + math.Exp(-raw))
	return alpha, (1 - alpha) * b, (1 - alpha) * (1 - b)
}
