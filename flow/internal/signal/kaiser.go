package signal

import "math"

// A ResamplingTier is a stop-band attenuation in dB for which resamplers are designed:
// 60, 96 or 140.
type ResamplingTier int

// halfLength returns the half width of a tier's filter, in frames of the lower
// rate, or zero for an unknown tier.
func (t ResamplingTier) halfLength() int {
	switch t {
	case 60:
		return 11
	case 96:
		return 19
	case 140:
		return 28
	}
	return 0
}

// KaiserTaps returns the prototype of a resampler between rates with the ratio r: a
// sinc that cuts at the lower rate's Nyquist frequency, times a Kaiser window
// with β = .1102 (A − 8.7), scaled so that the taps sum to 1. It has 2Kr + 1
// taps, K = 11, 19 or 28 frames for 60, 96 or 140 dB (Kaiser and Schafer, On the
// use of the I0-sinh window for spectrum analysis, 1980).
func KaiserTaps(t ResamplingTier, r int) []float64 {
	reach := t.halfLength() * r
	beta := .1102 * (float64(t) - 8.7)
	h, sum := make([]float64, 2*reach+1), 0.0
	for i := range h {
		at := float64(i-reach) / float64(reach)
		h[i] = sinc(float64(i-reach)/float64(r)) * bessel(beta*math.Sqrt(max(0, 1-at*at)))
		sum += h[i]
	}
	for i := range h {
		h[i] /= sum
	}
	return h
}

func sinc(x float64) float64 {
	if x == 0 {
		return 1
	}
	return math.Sin(math.Pi*x) / (math.Pi * x)
}

// bessel is I₀, summed until terms no longer contribute.
func bessel(x float64) float64 {
	sum, term := 1.0, 1.0
	for k := 1.0; term > sum*1e-17; k++ {
		term *= x / (2 * k) * (x / (2 * k))
		sum += term
	}
	return sum
}
