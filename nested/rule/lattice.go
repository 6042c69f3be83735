package rule

import (
	"atenia/grad"
	"atenia/internal/kernel/dense"
)

// lattice is LatticeOSR (arXiv 2504.05646): slots s_i, the rows of S, stay on
// the sphere, and a token moves them by one Riemannian step on
// |v - S^T k|^2 / 2,
//
//	r = v - S^T k ;  b = S r ;  U_i = k_i (r - b_i s_i)
//	S'_i = P_i / |P_i|,  P = rho S + theta U ;  y = S'^T q
//
// U_i is orthogonal to s_i, so |P_i| >= rho. Keys and queries address slots.
type lattice[F Float] struct {
	d, m   int
	ds     []F
	pr, db []F // [m]
}

func newLattice[F Float](l *Layout) *lattice[F] {
	m := l.Config.Slots
	return &lattice[F]{d: l.D, m: m, pr: make([]F, m), db: make([]F, m)}
}

// InitState: random unit rows, since zero is not on the sphere.
func (r *lattice[F]) InitState(s []F, rnd *Rand) {
	Uniform(rnd, s, 1)
	for i := range r.m {
		row := s[i*r.d:][:r.d]
		dense.Scale(row, 1/max(dense.Norm(row), normEps))
	}
}

// CacheLens: slots, r, b and |P_i|.
func (r *lattice[F]) CacheLens(dst []int, tokens int, keep bool) []int {
	n := kept(keep, tokens, 1)
	return append(dst, r.m*r.d*kept(keep, tokens+1, 2), n*r.d, n*r.m, n*r.m)
}

type latticeCache[F Float] struct{ states, r, b, norms history[F] }

func (r *lattice[F]) cache(c [][]F) latticeCache[F] {
	return latticeCache[F]{newHistory(c[0], r.m*r.d), newHistory(c[1], r.d), newHistory(c[2], r.m), newHistory(c[3], r.m)}
}

func (r *lattice[F]) Forward(_ *grad.Work[F], in *Tokens[F], s0, sT, y []F, cache [][]F) {
	d, m, c := r.d, r.m, r.cache(cache)
	copy(c.states.at(0), s0)
	for t := range in.T {
		k, v, q := in.K[t*m:][:m], in.V[t*d:][:d], in.Q[t*m:][:m]
		rho, th := 1-in.Gate[Alpha][t], in.Gate[Theta][t]
		s, next, res, b, norms := c.states.at(t), c.states.at(t+1), c.r.at(t), c.b.at(t), c.norms.at(t)
		dense.MatVecT(res, s, k)
		dense.Scale(res, -1)
		dense.Add(res, v)
		dense.MatVec(b, s, res)
		for i, ki := range k {
			row := next[i*d:][:d]
			scaleTo(row, rho-F(th*ki*b[i]), s[i*d:][:d])
			dense.Axpy(row, th*ki, res)
			norms[i] = dense.Norm(row)
			dense.Scale(row, 1/max(norms[i], normEps))
		}
		dense.MatVecT(y[t*d:][:d], next, q)
	}
	copy(sT, c.states.at(in.T))
}

func (r *lattice[F]) Backward(_ *grad.Work[F], in *Tokens[F], _ []F, cache [][]F, dy, dsT []F, g *Tokens[F], ds0 []F) {
	d, m, c := r.d, r.m, r.cache(cache)
	r.ds = start(r.ds, dsT, m*d)
	ds := r.ds
	for t := in.T - 1; t >= 0; t-- {
		k, q, dyt := in.K[t*m:][:m], in.Q[t*m:][:m], dy[t*d:][:d]
		dk, dv, dq := g.K[t*m:][:m], g.V[t*d:][:d], g.Q[t*m:][:m]
		rho, th := 1-in.Gate[Alpha][t], in.Gate[Theta][t]
		s, next, res, b, norms := c.states.at(t), c.states.at(t+1), c.r.at(t), c.b.at(t), c.norms.at(t)
		dense.AddOuter(ds, 1, q, dyt)
		dense.MatVec(dq, next, dyt)
		for i := range k {
			normalizeBack(ds[i*d:][:d], next[i*d:][:d], norms[i])
		}
		dense.MatVec(r.pr, ds, res)
		var dalpha, dtheta F
		for i, ki := range k {
			ps := dense.Dot(ds[i*d:][:d], s[i*d:][:d])
			along := r.pr[i] - F(b[i]*ps)
			dalpha -= ps
			dtheta += ki * along
			dk[i] = th * along
			r.db[i] = -th * ki * ps
		}
		g.Gate[Alpha][t], g.Gate[Theta][t] = dalpha, dtheta
		dense.MatVecT(dv, ds, k)
		dense.Scale(dv, th)
		dense.AddMatVecT(dv, s, r.db)
		dense.MatVec(r.pr, s, dv)
		dense.Axpy(dk, -1, r.pr)
		for i, ki := range k {
			dense.Scale(ds[i*d:][:d], rho-F(th*b[i]*ki))
		}
		dense.AddOuter(ds, 1, r.db, res)
		dense.AddOuter(ds, -1, k, dv)
	}
	if ds0 != nil {
		dense.Add(ds0, ds)
	}
}

func (r *lattice[F]) Read(w *grad.Work[F], s, q, y []F) { w.Mul(y, q, s, len(q)/r.m, r.m, r.d) }

func (r *lattice[F]) ReadBack(w *grad.Work[F], s, _, dy, dq []F) {
	w.MulT(dq, dy, s, len(dy)/r.d, r.d, r.m)
}
