package signal

import "math"

// A ResamplingTier is a stop-band attenuation in dB for which resamplers are designed:
// 60, 96, 120 or 140.
type ResamplingTier int

// halfLength returns the half width of a tier's filter, in frames of the lower
// rate, or zero for an unknown tier.
func (t ResamplingTier) halfLength() int {
	switch t {
	case 60:
		return 11
	case 96:
		return 19
	case 120:
		return 24
	case 140:
		return 28
	}
	return 0
}

// KaiserTaps returns the prototype of a resampler between rates with the ratio r: a
// sinc that cuts at the lower rate's Nyquist frequency, times a Kaiser window
// with β = .1102 (A − 8.7), scaled so that the taps sum to 1. It has 2Kr + 1
// taps, K = 11, 19, 24 or 28 frames for 60, 96, 120 or 140 dB (Kaiser and Schafer, On the
// use of the I0-sinh window for spectrum analysis, 1980).
func KaiserTaps(t ResamplingTier, r int) []float64 {
	return kaiserSinc(float64(t), 1, t.halfLength()*r, r)
}

// reserve is added to the attenuation of steep filters, in dB.
const reserve = 3

// steepTaps returns the prototype of a resampler between rates with the ratio r that keeps frequencies up to cutoff
// percent of the lower rate's Nyquist frequency and attenuates all from that frequency on by t dB: nothing aliases. The
// sinc cuts in the middle between the two, and the length is Kaiser's estimate N - 1 = (A - 7.95) / (2.285 Δω) for
// a few dB more, since that is how close the estimate and the equal ripple of both bands are.
func steepTaps(t ResamplingTier, cutoff, r int) []float64 {
	return kaiserSinc(float64(t)+reserve, (1+float64(cutoff)/100)/2, t.steepHalfLength(cutoff)*r, r)
}

// steepHalfLength returns the half width of SteepTaps in frames of the lower rate.
func (t ResamplingTier) steepHalfLength(cutoff int) int {
	width := math.Pi * (1 - float64(cutoff)/100)
	return int(math.Ceil((float64(t) + reserve - 7.95) / (2.285 * width) / 2))
}

// reach returns the half width of a filter in frames of the lower rate; a cutoff of 0 is that of [KaiserTaps].
func (t ResamplingTier) reach(cutoff int) int {
	if cutoff == 0 {
		return t.halfLength()
	}
	return t.steepHalfLength(cutoff)
}

// taps returns the prototype for a cutoff.
func (t ResamplingTier) taps(cutoff, r int) []float64 {
	if cutoff == 0 {
		return KaiserTaps(t, r)
	}
	return steepTaps(t, cutoff, r)
}

// kaiserSinc returns a sinc that cuts at a share of the lower rate's Nyquist frequency, windowed for a stop-band
// attenuation.
func kaiserSinc(attenuation, cut float64, reach, r int) []float64 {
	beta := .1102 * (attenuation - 8.7)
	h, sum := make([]float64, 2*reach+1), 0.0
	for i := range h {
		at := float64(i-reach) / float64(reach)
		h[i] = sinc(cut*float64(i-reach)/float64(r)) * bessel(beta*math.Sqrt(max(0, 1-at*at)))
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
