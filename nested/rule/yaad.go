package rule

import (
	"math"

	"atenia/internal/dense"
)

// yaad is the MLP memory under Huber's loss (MIRAS, arXiv 2504.13173, section
// 5.3, coordinate by coordinate),
//
//	R = G(W) + lambda (W - B) ;  W' = rho W - theta R ;  y = f_W'(q)
//
// with B the weights at the start of the chunk.
type yaad[F Float] struct {
	m      mlp[F]
	lambda F
	dw, db []F // adjoints of the weights and of B
	step   []F
}

func newYAAD[F Float](l *Layout) *yaad[F] {
	c := l.Config
	return &yaad[F]{m: newMLP(l, bias[F](huber[F]{F(c.Delta)})), lambda: F(c.LambdaLocal)}
}

// InitState: the first layer is random, since weights that are all zero have
// no gradient.
func (r *yaad[F]) InitState(s []F, rnd *Rand) { initMLP(s, rnd) }

func initMLP[F Float](s []F, rnd *Rand) {
	half := len(s) / 2
	Uniform(rnd, s[:half], math.Sqrt(3))
	clear(s[half:])
}

// CacheLens: weights, and the steps of gradient and read of every token.
func (r *yaad[F]) CacheLens(dst []int, tokens int, keep bool) []int {
	n := kept(keep, tokens, 1)
	return append(dst, 2*r.m.d*r.m.h*kept(keep, tokens+1, 2), n*r.m.gradLen(), n*r.m.readLen())
}

func (r *yaad[F]) Forward(_ *dense.Work[F], in *Tokens[F], s0, sT, y []F, cache [][]F) {
	m, size := &r.m, r.m.d*r.m.h
	states, grads, reads := newHistory(cache[0], 2*size), newHistory(cache[1], m.gradLen()), newHistory(cache[2], m.readLen())
	copy(states.at(0), s0)
	for t := range in.T {
		k, v, q := in.row(t, m.d)
		rho, th := 1-in.Gate[Alpha][t], in.Gate[Theta][t]
		before, after := states.at(t), states.at(t+1)
		st := m.gradStep(grads.at(t))
		m.gradient(before[:size], before[size:], k, v, st)
		keep := rho - th*r.lambda
		stepOuter(after[:size], before[:size], keep, -th, m.cc, k)
		stepOuter(after[size:], before[size:], keep, -th, st.out, m.hid)
		if r.lambda != 0 {
			dense.Axpy(after, th*r.lambda, s0)
		}
		m.read(after[:size], after[size:], q, m.readStep(reads.at(t)), y[t*m.d:][:m.d])
	}
	copy(sT, states.at(in.T))
}

func (r *yaad[F]) Backward(_ *dense.Work[F], in *Tokens[F], s0 []F, cache [][]F, dy, dsT []F, g *Tokens[F], ds0 []F) {
	m, size := &r.m, r.m.d*r.m.h
	states, grads, reads := newHistory(cache[0], 2*size), newHistory(cache[1], m.gradLen()), newHistory(cache[2], m.readLen())
	r.dw, r.db = start(r.dw, dsT, 2*size), start(r.db, nil, 2*size)
	dw1, dw2 := r.dw[:size], r.dw[size:]
	for t := in.T - 1; t >= 0; t-- {
		k, _, q := in.row(t, m.d)
		dk, dv, dq := g.row(t, m.d)
		rho, th := 1-in.Gate[Alpha][t], in.Gate[Theta][t]
		before, after := states.at(t), states.at(t+1)
		m.readBack(after[:size], after[size:], m.readStep(reads.at(t)), dy[t*m.d:][:m.d], dq)
		dense.AddOuter(dw1, 1, m.da, q)
		dense.AddOuter(dw2, 1, m.do, m.hid)
		along := dense.Dot(r.dw, before)
		g.Gate[Alpha][t] = -along
		st := m.gradStep(grads.at(t))
		dth := m.gradientBack(before[:size], before[size:], k, st, th, dw1, dw2, dk, dv)
		if r.lambda != 0 {
			dth -= r.lambda * (along - dense.Dot(r.dw, s0))
			dense.Axpy(r.db, r.lambda*th, r.dw)
		}
		g.Gate[Theta][t] = dth
		keep := rho - th*r.lambda
		dense.ScaleAddOuter(dw1, keep, 1, m.da, k)
		dense.ScaleAddOuter(dw2, keep, 1, st.out, m.db)
		dense.AddOuter(dw2, 1, m.do, m.hid)
	}
	if ds0 != nil {
		dense.Add(ds0, r.dw)
		dense.Add(ds0, r.db)
	}
}

func (r *yaad[F]) Read(_ *dense.Work[F], s, q, y []F) {
	size := r.m.d * r.m.h
	r.step = grow(r.step, r.m.readLen())
	r.m.readRows(s[:size], s[size:], q, y, r.step)
}

func (r *yaad[F]) ReadBack(_ *dense.Work[F], s, q, dy, dq []F) {
	size := r.m.d * r.m.h
	r.step = grow(r.step, r.m.readLen())
	r.m.readRowsBack(s[:size], s[size:], q, dy, dq, r.step)
}
