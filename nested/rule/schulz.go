package rule

import (
	"math"

	"atenia/grad"
	"atenia/internal/kernel/dense"
)

// Coefficients of the quintic Newton–Schulz iteration of Muon (Jordan et al.,
// 2024), X <- aX + (bA + cA^2)X with A = X X^T.
const (
	coefA, coefB, coefC = 3.4445, -4.7750, 2.0315
	firstEps            = 1e-7 // added to the first norm
)

// A newtonSchulz drives the singular values of a matrix [d, f] towards one.
type newtonSchulz[F Float] struct {
	d, f, Iters   int
	a, b, db, sum []F // [d, d]
	x             []F // [d, f]
}

// newNewtonSchulz returns iters iterations on matrices [d, f].
func newNewtonSchulz[F Float](d, f, iters int) newtonSchulz[F] {
	if iters == 0 {
		return newtonSchulz[F]{}
	}
	buf := make([]F, 4*d*d+d*f)
	n := d * d
	return newtonSchulz[F]{d, f, iters, buf[:n], buf[n : 2*n], buf[2*n : 3*n], buf[3*n : 4*n], buf[4*n:]}
}

// Iterates returns the number of matrices that Apply writes.
func (n *newtonSchulz[F]) Iterates() int { return n.Iters + 1 }

// norms returns the length of s and the divisor of the first iterate.
func norms[F Float](s []F) (l, den F) {
	l = F(math.Sqrt(dense.SumSquares(s)))
	return l, l + firstEps
}

// Apply writes all iterates to xs, consecutively.
func (n *newtonSchulz[F]) Apply(w *grad.Work[F], xs, s []F) {
	size := n.d * n.f
	_, den := norms(s)
	copy(xs[:size], s)
	dense.Scale(xs[:size], 1/den)
	for i := range n.Iters {
		x, next := xs[i*size:][:size], xs[(i+1)*size:][:size]
		n.quintic(w, x)
		w.Mul(next, n.b, x, n.d, n.d, n.f)
		dense.Axpy(next, coefA, x)
	}
}

// quintic computes A = X X^T and B = bA + cA^2.
func (n *newtonSchulz[F]) quintic(w *grad.Work[F], x []F) {
	w.MulT(n.a, x, x, n.d, n.f, n.d)
	w.Mul(n.b, n.a, n.a, n.d, n.d, n.d)
	for i, v := range n.a {
		n.b[i] = F(coefC*n.b[i]) + F(coefB*v)
	}
}

// Back adds the adjoint of s to ds, given that of the last iterate, which it
// overwrites.
func (n *newtonSchulz[F]) Back(w *grad.Work[F], ds, dx, xs, s []F) {
	size, d := n.d*n.f, n.d
	for i := n.Iters - 1; i >= 0; i-- {
		x := xs[i*size:][:size]
		n.quintic(w, x)
		w.MulT(n.db, dx, x, d, n.f, d)
		addTranspose(n.db, d)
		w.Mul(n.sum, n.a, n.db, d, d, d) // A is symmetric, so the other order is the transpose
		addTranspose(n.sum, d)
		for j, v := range n.db {
			n.sum[j] = F(coefC*n.sum[j]) + F(coefB*v)
		}
		w.Mul(n.x, n.b, dx, d, d, n.f)
		w.AddMul(n.x, n.sum, x, d, d, n.f)
		for j, v := range n.x {
			dx[j] = v + F(coefA*dx[j])
		}
	}
	l, den := norms(s)
	if l > 0 {
		dense.Axpy(ds, -dense.Dot(dx, s)/(den*den*l), s)
	}
	dense.Axpy(ds, 1/den, dx)
}

// addTranspose replaces m by m + m^T.
func addTranspose[F Float](m []F, n int) {
	for i := range n {
		for j := range i + 1 {
			v := m[i*n+j] + m[j*n+i]
			m[i*n+j], m[j*n+i] = v, v
		}
	}
}
