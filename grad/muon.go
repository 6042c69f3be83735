package grad

import (
	"math"

	"atenia/internal/kernel/dense"
	"atenia/internal/machine/pool"
)

// Muon updates matrices in the direction of their orthogonalized momentum, all
// of whose singular values are equal; orthogonalization uses Newton–Schulz
// iteration (Jordan and others, "Muon", 2024). Steps are scaled to a root mean
// square of 0.2, AdamW's usual one, so that one learning rate fits both (Liu
// and others, arXiv 2502.16982). A zero field has the customary value, except
// Decay and Plain.
type Muon struct {
	Momentum   float64 // 0.95
	Plain      bool    // without Nesterov momentum
	Iterations int     // 5
	Decay      float64 // weight decay, multiplied by the learning rate in each step
	Rest       AdamW   // for tensors other than matrices, and for tables
}

// Coefficients of the quintic that pulls singular values towards 1: steep at
// zero, and between 0.7 and 1.2 after five iterations.
const (
	schulzA = 3.4445
	schulzB = -4.7750
	schulzC = 2.0315
)

func (r Muon) check() error {
	var f faults
	f.rate("momentum", r.Momentum)
	f.size("decay", r.Decay)
	f.need(r.Iterations >= 0 && r.Iterations <= 100, "%d iterations, want at most 100", r.Iterations)
	f.errs = append(f.errs, r.Rest.check())
	return f.err()
}

type muon[F Float] struct {
	rule       Muon
	work       *dense.Work[F]
	x, y       []F // as large as the largest matrix
	gram, poly []F // the square of its shorter side

	// State of the current elementwise pass.
	phase      muonPhase
	w, g, m    []F
	mu, scale  F
	factor     F // of x
	keep, rate F
	squared    []float64
}

// A muonPhase is one of Muon's elementwise passes.
type muonPhase uint8

const (
	gather muonPhase = iota // m and x from g, and squares
	shrink                  // x by factor
	mix                     // poly = b·gram + c·poly
	join                    // x = a·x + y
	apply                   // w from x
)

func newMuon[F Float](r Muon, params []*Param[F], p *pool.Pool) *muon[F] {
	r.Momentum = or(r.Momentum, 0.95)
	if r.Iterations == 0 {
		r.Iterations = 5
	}
	u := &muon[F]{rule: r, work: dense.New[F](p), mu: F(r.Momentum)}
	size, side := 0, 0
	for _, w := range params {
		if isMatrix(w) {
			size, side = max(size, w.Shape[0]*w.Shape[1]), max(side, min(w.Shape[0], w.Shape[1]))
		}
	}
	u.x, u.y = make([]F, size), make([]F, size)
	u.gram, u.poly = make([]F, side*side), make([]F, side*side)
	u.squared = make([]float64, (size+grain-1)/grain)
	return u
}

func (u *muon[F]) slots() int { return 1 }

func (u *muon[F]) step(p *pool.Pool, w *Param[F], slots [][]F, _ uint64, lr, scale float64) {
	rows, columns := w.Shape[0], w.Shape[1]
	u.w, u.g, u.m, u.scale = w.Value, w.Grad, slots[0], F(scale)
	u.pass(p, gather, len(u.w))
	var squares float64
	for _, s := range u.squared[:(len(u.w)+grain-1)/grain] {
		squares += s
	}
	const least = 1e-7 // a zero gradient has no direction
	u.factor = F(1 / max(math.Sqrt(squares), least))
	if math.IsNaN(squares) {
		u.factor = F(squares)
	}
	u.pass(p, shrink, len(u.w))
	u.orthogonalise(p, rows, columns)
	rate := lr * 0.2 * math.Sqrt(float64(max(rows, columns)))
	u.rate, u.keep = F(rate), 1
	if w.decays() {
		u.keep = 1 - F(lr*u.rule.Decay)
	}
	u.pass(p, apply, len(u.w))
}

// orthogonalise replaces x by an approximation of U·Vᵀ of its singular value
// decomposition: x ← a·x + (b·G + c·G²)·x with G = x·xᵀ, or from the right if x
// is tall.
func (u *muon[F]) orthogonalise(p *pool.Pool, rows, columns int) {
	side := min(rows, columns)
	n := rows * columns
	x, y, gram, poly := u.x[:n], u.y[:n], u.gram[:side*side], u.poly[:side*side]
	for range u.rule.Iterations {
		if rows <= columns {
			u.work.MulT(gram, x, x, side, columns, side)
		} else {
			u.work.TMul(gram, x, x, side, rows, side)
		}
		u.work.Mul(poly, gram, gram, side, side, side)
		u.pass(p, mix, side*side)
		if rows <= columns {
			u.work.Mul(y, poly, x, side, side, columns)
		} else {
			u.work.Mul(y, x, poly, rows, side, side)
		}
		u.pass(p, join, n)
	}
}

func (u *muon[F]) pass(p *pool.Pool, phase muonPhase, n int) {
	u.phase = phase
	p.Range(n, grain, u)
}

// Range does one pass; see [pool.Ranger].
func (u *muon[F]) Range(_, lo, hi int) {
	switch u.phase {
	case gather:
		for ; lo < hi; lo += grain {
			u.squared[lo/grain] = u.gather(lo, min(lo+grain, hi))
		}
	case shrink:
		for i := lo; i < hi; i++ {
			u.x[i] *= u.factor
		}
	case mix:
		for i := lo; i < hi; i++ {
			u.poly[i] = F(schulzB*u.gram[i]) + F(schulzC*u.poly[i])
		}
	case join:
		for i := lo; i < hi; i++ {
			u.x[i] = F(schulzA*u.x[i]) + u.y[i]
		}
	case apply:
		for i := lo; i < hi; i++ {
			u.w[i] = F(u.w[i]*u.keep) - F(u.rate*u.x[i])
		}
	}
}

// gather updates the momentum and stores the step's direction in x.
func (u *muon[F]) gather(lo, hi int) (squares float64) {
	rest := 1 - u.mu
	for i := lo; i < hi; i++ {
		d := F(rest * F(u.g[i]*u.scale))
		m := F(u.mu*u.m[i]) + d
		u.m[i] = m
		if !u.rule.Plain {
			m = d + F(u.mu*m)
		}
		u.x[i] = m
		squares += float64(float64(m) * float64(m))
	}
	return squares
}
