// Sliding windows over a row.

package dsp

import (
	"math"

	"atenia/internal/kernel"
)

// Correlate writes dst[i] = Σ h[k]·x[i+k], added from k = 0 on; x must have at
// least len(dst)+len(h)-1 frames and must not be dst. A causal FIR filter is
// Correlate with reversed taps over a row that starts len(h)-1 frames early;
// its transpose is Correlate with unreversed taps over gradients that extend
// len(h)-1 frames further.
func Correlate[F Float](dst, x, h []F) {
	if len(dst) == 0 {
		return
	}
	_ = x[:len(dst)+max(len(h), 1)-1]
	n := 0
	if single[F]() {
		n = correlate32(as32(dst), as32(x), as32(h))
	}
	for i := n; i < len(dst); i++ {
		sum := F(0)
		for k, t := range h {
			sum = fma(t, x[i+k], sum)
		}
		dst[i] = sum
	}
}

// AddCorrelation adds Σ y[n]·x[n+k] to sum[k], from the last n to the first, in
// float64; x must have at least len(y)+len(sum)-1 frames. It is the gradient of
// the taps of [Correlate], accumulated in the order of frames, so that it does
// not depend on cuts.
func AddCorrelation[F Float](sum []float64, y, x []F) {
	if len(y) == 0 || len(sum) == 0 {
		return
	}
	_ = x[:len(y)+len(sum)-1]
	first := 0
	if single[F]() {
		first = addCorrelation32(sum, as32(y), as32(x))
	}
	for k := first; k < len(sum); k++ {
		s := sum[k]
		for n := len(y) - 1; n >= 0; n-- {
			s = math.FMA(float64(y[n]), float64(x[n+k]), s)
		}
		sum[k] = s
	}
}

// Dot returns a·b, accumulated in 16 lanes by index, which are then folded.
func Dot[F Float](a, b []F) F {
	b = b[:len(a)]
	if single[F]() {
		return F(dot32(as32(a), as32(b)))
	}
	var l kernel.Lanes64
	for i, v := range a {
		l[i%laneCount] = math.FMA(float64(v), float64(b[i]), l[i%laneCount])
	}
	return F(l.Sum())
}

func dotGeneric(a, b []float32) float32 {
	var l kernel.Lanes
	for i, v := range a {
		l[i%laneCount] = kernel.FMA(v, b[i], l[i%laneCount])
	}
	return l.Sum()
}
