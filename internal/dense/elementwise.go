// Passes over vectors: what attention, softmax and norms are made of.

package dense

import (
	"math"

	"atenia/internal/kernel"
)

// scaled writes s·x.
func scaled[F Float](dst, x []F, s F) {
	dst = dst[:len(x)]
	for i, v := range x {
		dst[i] = s * v
	}
}

// softmaxSpan replaces x[lo:hi] by e^(x−top), where top is the largest of
// them, and returns top and the sum. Values beside them are lost.
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
		for i := range x {
			x[i] -= c
		}
		kernel.Exp(singles(x), singles(x))
		return
	}
	for i, v := range x {
		x[i] = F(math.Exp(float64(v - c)))
	}
}

// weigh replaces d by p·(d−c).
func weigh[F Float](d, p []F, c F) {
	p = p[:len(d)]
	for i, v := range p {
		d[i] = F(v * (d[i] - c))
	}
}
