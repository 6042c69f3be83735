package rule

import "math"

// link maps Moneta's dual state to weights, W = link(A): the minimiser for a
// q-norm regulariser, A |A|^(q-2) over the mean of |A|^q to the (q-2)/q, of
// degree one; or the form printed in MIRAS. |a| is smoothed as sqrt(a^2+eps).
type link[F Float] struct {
	q, eps float64
	dual   bool
}

// apply writes link(a) and returns its denominator and the mean (of the literal
// form the sum) of |a|^q.
func (l link[F]) apply(dst, a []F) (den, mean F) {
	if l.q == 2 {
		copy(dst, a)
		return 1, 1
	}
	n := 0.0
	if l.q == 4 {
		n = l.squares(a)
	} else {
		for _, v := range a {
			n += math.Pow(float64(v)*float64(v)+l.eps, l.q/2)
		}
	}
	if l.dual {
		n /= float64(len(a))
	}
	d := math.Pow(n, (l.q-2)/l.q)
	inv, e := F(1/d), (l.q-2)/2
	switch {
	case !l.dual:
		scaleTo(dst, inv, a)
	case l.q == 4:
		eps := F(l.eps)
		for i, v := range a {
			dst[i] = v * (F(v*v) + eps) * inv
		}
	default:
		for i, v := range a {
			dst[i] = v * F(pow(float64(v)*float64(v)+l.eps, e)) * inv
		}
	}
	return F(d), F(n)
}

// squares is the sum of (a^2+eps)^2.
func (l link[F]) squares(a []F) (n float64) {
	for _, v := range a {
		r := float64(v)*float64(v) + l.eps
		n += float64(r * r)
	}
	return n
}

// back adds the adjoint of a, given that of link(a), to da.
func (l link[F]) back(da, a, dw []F, den, mean F) {
	if l.q == 2 {
		for i, v := range dw {
			da[i] += v
		}
		return
	}
	inv := 1 / den
	if !l.dual {
		l.literalBack(da, a, dw, inv, mean)
		return
	}
	e := (l.q - 4) / 2
	along := 0.0
	for i, v := range a {
		r := float64(v)*float64(v) + l.eps
		along += float64(dw[i]) * float64(v) * pow(r, e) * r
	}
	// dD_i = (q-2) N^(-2/q) m_i / size
	c := F(along * (l.q - 2) * math.Pow(float64(mean), -2/l.q) / float64(len(a)) * float64(inv) * float64(inv))
	q1 := F(l.q - 1)
	eps := F(l.eps)
	for i, v := range a {
		sq := F(v * v)
		rp := F(1)
		if e != 0 {
			rp = F(pow(float64(sq)+l.eps, e))
		}
		da[i] += F(dw[i]*rp*(F(q1*sq)+eps))*inv - F(c*v*rp*(sq+eps))
	}
}

func (l link[F]) literalBack(da, a, dw []F, inv, mean F) {
	along := 0.0
	for i, v := range a {
		along += float64(dw[i]) * float64(v)
	}
	c := along * (l.q - 2) * math.Pow(float64(mean), -2/l.q) * float64(inv) * float64(inv)
	for i, v := range a {
		r := float64(v)*float64(v) + l.eps
		da[i] += F(dw[i]*inv) - F(c*float64(v)*pow(r, (l.q-2)/2))
	}
}
