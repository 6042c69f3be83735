package rule

import (
	"math"

	"atenia/internal/kernel/dense"
)

// A linkMap maps Moneta's dual state A to the weights W that minimize a q-norm
// regularizer, or to the form printed in MIRAS (arXiv 2504.13173). |a| is
// smoothed as sqrt(a^2+eps).
//
//	A ──▶ A |A|^(q-2) / mean(|A|^q)^((q-2)/q) ──▶ W      degree one; q = 2 is the identity
type linkMap[F Float] struct {
	Q, Eps float64
	Dual   bool
}

// piece is the number of elements processed at a time, which fit the L1 cache.
const piece = 512

// Apply writes link(a) and returns its denominator and the mean (for the
// literal form the sum) of |a|^q. dst may be a.
func (l linkMap[F]) Apply(dst, a []F) (den, mean F) {
	if l.Q == 2 {
		copy(dst, a)
		return 1, 1
	}
	n := 0.0
	if l.Q == 4 {
		n = l.fourth(a)
	} else {
		for _, v := range a {
			n += math.Pow(float64(v)*float64(v)+l.Eps, l.Q/2)
		}
	}
	if l.Dual {
		n /= float64(len(a))
	}
	d := math.Pow(n, (l.Q-2)/l.Q)
	inv := F(1 / d)
	switch {
	case !l.Dual:
		copy(dst, a)
		dense.Scale(dst[:len(a)], inv)
	case l.Q == 4:
		var buf [piece]F
		for len(a) > 0 {
			m := min(piece, len(a))
			cube := buf[:m]
			dense.Mul(cube, a[:m], a[:m])
			dense.Mul(cube, cube, a[:m])
			copy(dst[:m], a)
			dense.Scale(dst[:m], F(l.Eps)*inv)
			dense.Axpy(dst[:m], inv, cube)
			dst, a = dst[m:], a[m:]
		}
	default:
		for i, v := range a {
			dst[i] = v * F(linkPow(float64(v)*float64(v)+l.Eps, (l.Q-2)/2)) * inv
		}
	}
	return F(d), F(n)
}

// fourth returns the sum of (a^2+eps)^2.
func (l linkMap[F]) fourth(a []F) (n float64) {
	n = float64(len(a)) * l.Eps * l.Eps
	var buf [piece]F
	for len(a) > 0 {
		m := min(piece, len(a))
		sq := buf[:m]
		dense.Mul(sq, a[:m], a[:m])
		n += float64(dense.Dot(sq, sq)) + 2*l.Eps*float64(dense.Dot(a[:m], a[:m]))
		a = a[m:]
	}
	return n
}

// Back adds the adjoint of a to da, given that of w = link(a).
func (l linkMap[F]) Back(da, a, w, dw []F, den, mean F) {
	if l.Q == 2 {
		dense.Add(da, dw)
		return
	}
	// The denominator's share is sum_j dw_j w_j / D dD_i, with
	// dD_i = (q-2) N^(-2/q) m_i / size, and m = D w of the minimiser.
	inv := 1 / den
	c := dense.Dot(dw, w) * inv * F((l.Q-2)*math.Pow(float64(mean), -2/l.Q))
	if !l.Dual {
		for i, v := range a {
			m := v * F(linkPow(float64(v)*float64(v)+l.Eps, (l.Q-2)/2))
			da[i] += F(dw[i]*inv) - F(c*m)
		}
		return
	}
	dense.Axpy(da, -c*den/F(len(a)), w)
	if l.Q == 4 {
		dense.Axpy(da, F(l.Eps)*inv, dw)
		var buf [piece]F
		for len(a) > 0 {
			m := min(piece, len(a))
			t := buf[:m]
			dense.Mul(t, a[:m], a[:m])
			dense.Mul(t, t, dw[:m])
			dense.Axpy(da[:m], 3*inv, t)
			da, a, dw = da[m:], a[m:], dw[m:]
		}
		return
	}
	for i, v := range a {
		sq := float64(v) * float64(v)
		da[i] += dw[i] * inv * F(linkPow(sq+l.Eps, (l.Q-4)/2)*((l.Q-1)*sq+l.Eps))
	}
}

// linkPow returns x^y for positive x. It is fast where y is a small multiple of a
// half.
func linkPow(x, y float64) float64 {
	switch y {
	case -1:
		return 1 / x
	case -0.5:
		return 1 / math.Sqrt(x)
	case 0:
		return 1
	case 0.5:
		return math.Sqrt(x)
	case 1:
		return x
	case 2:
		return x * x
	}
	return math.Pow(x, y)
}
