// Elementwise passes over vectors, used by attention, softmax and norms.

package dense

import (
	"math"

	"atenia/internal/kernel"
)

// scaled writes s·x.
func scaled[F Float](dst, x []F, s F) {
	dst = dst[:len(x)]
	if single[F]() {
		scaled32(singles(dst), singles(x), float32(s))
		return
	}
	for i, v := range x {
		dst[i] = s * v
	}
}

// softmaxSpan replaces x[lo:hi] by e^(x−top), where top is the maximum, and
// returns top and the sum. Values beside the span, up to the next multiples of 16,
// may become zero.
func softmaxSpan[F Float](x []F, lo, hi int) (top, sum F) {
	if single[F]() {
		t, s := kernel.SoftmaxSpan(singles(x), lo, hi)
		return F(t), F(s)
	}
	x = x[lo:hi]
	top = x[0]
	for _, v := range x {
		top = max(top, v)
	}
	for i, v := range x {
		x[i] = F(math.Exp(float64(v - top)))
		sum += x[i]
	}
	return top, sum
}

// exps replaces x by e^(x−c).
func exps[F Float](x []F, c F) {
	if single[F]() {
		exps32(singles(x), float32(c))
		return
	}
	for i, v := range x {
		x[i] = F(math.Exp(float64(v - c)))
	}
}

// weigh replaces d by p·(d−c).
func weigh[F Float](d, p []F, c F) {
	p = p[:len(d)]
	if single[F]() {
		weigh32(singles(d), singles(p), float32(c))
		return
	}
	for i, v := range p {
		d[i] = F(v * (d[i] - c))
	}
}

// greatest returns the maximum of x.
func greatest[F Float](x []F) F {
	if single[F]() {
		return F(kernel.Max(singles(x)))
	}
	top := x[0]
	for _, v := range x {
		top = max(top, v)
	}
	return top
}

// sumExps returns Σ e^(x−c).
func sumExps[F Float](x []F, c F) float64 {
	if single[F]() {
		var acc kernel.Lanes
		sumExps32(&acc, singles(x), float32(c))
		return float64(acc.Sum())
	}
	sum := 0.0
	for _, v := range x {
		sum += math.Exp(float64(v - c))
	}
	return sum
}

// addExps adds s·e^(x−c) to dst.
func addExps[F Float](dst, x []F, c, s F) {
	dst = dst[:len(x)]
	if single[F]() {
		addExps32(singles(dst), singles(x), float32(c), float32(s))
		return
	}
	for i, v := range x {
		dst[i] += F(s * F(math.Exp(float64(v-c))))
	}
}

// Exp writes e^x. dst may be x.
func Exp[F Float](dst, x []F) {
	dst = dst[:len(x)]
	if single[F]() {
		kernel.Exp(singles(dst), singles(x))
		return
	}
	for i, v := range x {
		dst[i] = F(math.Exp(float64(v)))
	}
}
