// Sums and extremes of rows.

package dsp

import (
	"math"

	"atenia/internal/kernel"
)

// Lanes are the partial sums of one number over the frames of a stream. Frame f
// of the stream belongs to lane f mod 16, and the frames of a lane are added in
// order, so that the sum does not depend on how the stream is cut. The zero
// value is an empty sum.
type Lanes kernel.Lanes64

// Sum folds the lanes, always in the same order.
func (l *Lanes) Sum() float64 { return (*kernel.Lanes64)(l).Sum() }

// AddDot adds a·b to the lanes, from the last frame to the first. The first
// frame has index frame0 in the stream. Products and sums are float64, and
// products are exact.
func AddDot[F Float](l *Lanes, a, b []F, frame0 int64) {
	b = b[:len(a)]
	i := len(a)
	for i > 0 {
		if single[F]() && i >= laneCount && uint64(frame0+int64(i))%laneCount == 0 {
			if i = addDot32(l, as32(a[:i]), as32(b[:i])); i == 0 {
				return
			}
		}
		i--
		at := &l[uint64(frame0+int64(i))%laneCount]
		*at = math.FMA(float64(a[i]), float64(b[i]), *at)
	}
}

// AddSum adds x to the lanes, from the last frame to the first, like [AddDot].
func AddSum[F Float](l *Lanes, x []F, frame0 int64) {
	i := len(x)
	for i > 0 {
		if single[F]() && i >= laneCount && uint64(frame0+int64(i))%laneCount == 0 {
			if i = addSum32(l, as32(x[:i])); i == 0 {
				return
			}
		}
		i--
		l[uint64(frame0+int64(i))%laneCount] += float64(x[i])
	}
}

const laneCount = 16

// SumSquares returns the sum of x², added as float64 in 16 lanes by the index
// in x.
func SumSquares[F Float](x []F) float64 {
	var l Lanes
	AddDot(&l, x, x, 0)
	return l.Sum()
}

// Peak returns the largest |x|, 0 for no frames, and ignores NaN.
func Peak[F Float](x []F) F {
	n, peak := 0, F(0)
	if single[F]() {
		var p float32
		n, p = peak32(as32(x))
		peak = F(p)
	}
	for _, v := range x[n:] {
		if v < 0 {
			v = -v
		}
		if v > peak {
			peak = v
		}
	}
	return peak
}

// NotFinite returns the index of the first value of x that is infinite or NaN,
// -1 when there is none.
func NotFinite[F Float](x []F) int {
	if single[F]() {
		if n, ok := finite32(as32(x)); ok {
			return rest(x, n)
		}
	}
	return rest(x, 0)
}

// rest scans the values from n on.
func rest[F Float](x []F, n int) int {
	for i := n; i < len(x); i++ {
		if x[i]-x[i] != 0 {
			return i
		}
	}
	return -1
}
