package signal

import "math"

// This file holds the K weighting of BS.1770. The standard gives coefficients
// for 48 kHz; these formulas give the same filters at any rate.

// A section is a second-order filter: y = b0 x + b1 x1 + b2 x2 - a1 y1 - a2 y2.
type section struct{ b0, b1, b2, a1, a2 float64 }

// shelf models the head: 4 dB gain above about 1.7 kHz.
func shelf(rate float64) section {
	const f0, gain, q = 1681.974450955533, 3.999843853973347, 0.7071752369554196
	k := math.Tan(math.Pi * f0 / rate)
	high := math.Pow(10, gain/20)
	band := math.Pow(high, 0.4996667741545416)
	a0 := 1 + k/q + k*k
	return section{(high + band*k/q + k*k) / a0, 2 * (k*k - high) / a0, (high - band*k/q + k*k) / a0, 2 * (k*k - 1) / a0, (1 - k/q + k*k) / a0}
}

// highpassWeighting is the second filter, with its corner at 38 Hz.
func highpassWeighting(rate float64) section {
	const f0, q = 38.13547087602444, 0.5003270373238773
	k := math.Tan(math.Pi * f0 / rate)
	a0 := 1 + k/q + k*k
	return section{1, -2, 1, 2 * (k*k - 1) / a0, (1 - k/q + k*k) / a0}
}

// run filters one frame; s is the transposed direct form's state.
func (c *section) run(s *[2]float64, x float64) float64 {
	y := float64(c.b0*x) + s[0]
	s[0] = float64(c.b1*x) - float64(c.a1*y) + s[1]
	s[1] = float64(c.b2*x) - float64(c.a2*y)
	return y
}

// channelWeight returns the weight of channel c of n: more than 1 for surround
// channels, 0 for the low-frequency effects of 5.1.
func channelWeight(c, n int) float64 {
	const behind = 1.41
	switch {
	case n == 6 && c == 3:
		return 0
	case n == 5 && c >= 3, n == 6 && c >= 4:
		return behind
	}
	return 1
}

// loudness returns the LUFS of a weighted mean square.
func loudness(power float64) float64 {
	return max(silence, -0.691+10*math.Log10(max(power, 1e-30)))
}

// silence is the lowest loudness that is reported.
const silence = -120.0
