package rule

import (
	"math"

	"atenia/internal/dense"
)

// link maps Moneta's dual state to weights, W = link(A): the minimiser for a
// q-norm regulariser, A |A|^(q-2) over the mean of |A|^q to the (q-2)/q, of
// degree one; or the form printed in MIRAS. |a| is smoothed as sqrt(a^2+eps).
type link[F Float] struct {
	q, eps float64
	dual   bool
}

// piece numbers at a time stay in the nearest cache.
const piece = 512

// apply writes link(a) and returns its denominator and the mean (of the literal
// form the sum) of |a|^q. dst may be a.
func (l link[F]) apply(dst, a []F) (den, mean F) {
	if l.q == 2 {
		copy(dst, a)
		return 1, 1
	}
	n := 0.0
	if l.q == 4 {
		n = l.fourth(a)
	} else {
		for _, v := range a {
			n += math.Pow(float64(v)*float64(v)+l.eps, l.q/2)
		}
	}
	if l.dual {
		n /= float64(len(a))
	}
	d := math.Pow(n, (l.q-2)/l.q)
	inv := F(1 / d)
	switch {
	case !l.dual:
		scaleTo(dst, inv, a)
	case l.q == 4:
		var buf [piece]F
		for len(a) > 0 {
			m := min(piece, len(a))
			cube := buf[:m]
			dense.Mul(cube, a[:m], a[:m])
			dense.Mul(cube, cube, a[:m])
			scaleTo(dst[:m], F(l.eps)*inv, a[:m])
			dense.Axpy(dst[:m], inv, cube)
			dst, a = dst[m:], a[m:]
		}
	default:
		for i, v := range a {
			dst[i] = v * F(pow(float64(v)*float64(v)+l.eps, (l.q-2)/2)) * inv
		}
	}
	return F(d), F(n)
}

// fourth is the sum of (a^2+eps)^2.
func (l link[F]) fourth(a []F) (n float64) {
	n = float64(len(a)) * l.eps * l.eps
	var buf [piece]F
	for len(a) > 0 {
		m := min(piece, len(a))
		sq := buf[:m]
		dense.Mul(sq, a[:m], a[:m])
		n += float64(dense.Dot(sq, sq)) + 2*l.eps*float64(dense.Dot(a[:m], a[:m]))
		a = a[m:]
	}
	return n
}

// back adds the adjoint of a to da, given that of w = link(a).
func (l link[F]) back(da, a, w, dw []F, den, mean F) {
	if l.q == 2 {
		dense.Add(da, dw)
		return
	}
	// The denominator's share is sum_j dw_j w_j / D dD_i, with
	// dD_i = (q-2) N^(-2/q) m_i / size, and m = D w of the minimiser.
	inv := 1 / den
	c := dense.Dot(dw, w) * inv * F((l.q-2)*math.Pow(float64(mean), -2/l.q))
	if !l.dual {
		for i, v := range a {
			m := v * F(pow(float64(v)*float64(v)+l.eps, (l.q-2)/2))
			da[i] += F(dw[i]*inv) - F(c*m)
		}
		return
	}
	dense.Axpy(da, -c*den/F(len(a)), w)
	if l.q == 4 {
		dense.Axpy(da, F(l.eps)*inv, dw)
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
		da[i] += dw[i] * inv * F(pow(sq+l.eps, (l.q-4)/2)*((l.q-1)*sq+l.eps))
	}
}
