// Biquads with coefficients per frame, one row at a time.

package dsp

// Framed holds the results of [Coefficients.Direct] for every frame of a slice.
type Framed[F Float] struct{ B0, C1, C2, A1, A2 []F }

// Forward filters one row and updates its state. dst may be src.
func (c Framed[F]) Forward(dst, src []F, s *[2]F) {
	n := len(src)
	y, b0, c1, c2, a1, a2 := dst[:n], c.B0[:n], c.C1[:n], c.C2[:n], c.A1[:n], c.A2[:n]
	s1, s2 := s[0], s[1]
	for i, v := range src {
		y[i] = fma(b0[i], v, s1)
		t := fma(c1[i], v, s2)
		s2 = fma(-a2[i], s1, c2[i]*v)
		s1 = fma(-a1[i], s1, t)
	}
	s[0], s[1] = s1, s2
}

// Backward maps the gradient dy of the output to dx, which may be dy, from the
// last frame to the first, and updates the adjoint state. Unless t is nil it
// must be len(dy)+2 long and receives the gradients of the states: the
// gradients of the coefficients of frame i are
//
//	b0 t[i]·x[i]   b1 t[i+1]·x[i]   b2 t[i+2]·x[i]   a1 −t[i+1]·y[i]   a2 −t[i+2]·y[i]
func (c Framed[F]) Backward(dx, dy, t []F, lambda *[2]F) {
	n := len(dy)
	dx, b0, c1, c2, a1, a2 := dx[:n], c.B0[:n], c.C1[:n], c.C2[:n], c.A1[:n], c.A2[:n]
	l1, l2 := lambda[0], lambda[1]
	if t != nil {
		t = t[:n+2]
		t[n], t[n+1] = l1, l2
	}
	for i := n - 1; i >= 0; i-- {
		d := dy[i]
		v := fma(-a1[i], l1, fma(-a2[i], l2, d))
		dx[i] = fma(c1[i], l1, fma(c2[i], l2, b0[i]*d))
		if t != nil {
			t[i] = v
		}
		l1, l2 = v, l1
	}
	lambda[0], lambda[1] = l1, l2
}
