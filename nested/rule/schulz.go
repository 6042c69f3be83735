package rule

import (
	"math"

	"atenia/internal/dense"
)

// Coefficients of the quintic Newton–Schulz iteration of Muon (Jordan et al.,
// 2024), X <- aX + (bA + cA^2)X with A = X X^T.
const (
	schulzA, schulzB, schulzC = 3.4445, -4.7750, 2.0315
	schulzEps                 = 1e-7 // added to the first norm
)

// schulz drives the singular values of a matrix [d, f] towards one.
type schulz[F Float] struct {
	d, f, iters   int
	a, b, db, sum []F // [d, d]
	x             []F // [d, f]
}

func newSchulz[F Float](d, f, iters int) schulz[F] {
	if iters == 0 {
		return schulz[F]{}
	}
	buf := make([]F, 4*d*d+d*f)
	return schulz[F]{d, f, iters, carve(&buf, d*d), carve(&buf, d*d), carve(&buf, d*d), carve(&buf, d*d), buf}
}

// iterates is how many matrices apply writes.
func (n *schulz[F]) iterates() int { return n.iters + 1 }

// norms returns the length of s and the divisor of the first iterate.
func norms[F Float](s []F) (l, den F) {
	l = F(math.Sqrt(dense.SumSquares(s)))
	return l, l + schulzEps
}

// apply writes all iterates to xs, one after another.
func (n *schulz[F]) apply(w *dense.Work[F], xs, s []F) {
	size := n.d * n.f
	_, den := norms(s)
	scaleTo(xs[:size], 1/den, s)
	for i := range n.iters {
		x, next := xs[i*size:][:size], xs[(i+1)*size:][:size]
		n.quintic(w, x)
		w.Mul(next, n.b, x, n.d, n.d, n.f)
		dense.Axpy(next, schulzA, x)
	}
}

// quintic computes A = X X^T and B = bA + cA^2.
func (n *schulz[F]) quintic(w *dense.Work[F], x []F) {
	w.MulT(n.a, x, x, n.d, n.f, n.d)
	w.Mul(n.b, n.a, n.a, n.d, n.d, n.d)
	for i, v := range n.a {
		n.b[i] = F(schulzC*n.b[i]) + F(schulzB*v)
	}
}

// back adds the adjoint of s to ds, given that of the last iterate, which it
// overwrites.
func (n *schulz[F]) back(w *dense.Work[F], ds, dx, xs, s []F) {
	size, d := n.d*n.f, n.d
	for i := n.iters - 1; i >= 0; i-- {
		x := xs[i*size:][:size]
		n.quintic(w, x)
		w.MulT(n.db, dx, x, d, n.f, d)
		addTranspose(n.db, d)
		w.Mul(n.sum, n.a, n.db, d, d, d) // A is symmetric, so the other order is the transpose
		addTranspose(n.sum, d)
		for j, v := range n.db {
			n.sum[j] = F(schulzC*n.sum[j]) + F(schulzB*v)
		}
		w.Mul(n.x, n.b, dx, d, d, n.f)
		w.AddMul(n.x, n.sum, x, d, d, n.f)
		for j, v := range n.x {
			dx[j] = v + F(schulzA*dx[j])
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
