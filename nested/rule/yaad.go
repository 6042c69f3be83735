package rule

import (
	"math"

	"atenia/grad"
	"atenia/internal/kernel/dense"
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
	states trail[F]
	dw, db []F // adjoints of the weights and of B
	step   []F
}

func newYAAD[F Float](l *Layout) *yaad[F] {
	c := l.Config
	return &yaad[F]{m: newMLP(l, bias[F](huber[F]{F(c.Delta)})), lambda: F(c.LambdaLocal), states: newTrail[F](2 * l.D * c.Hidden)}
}

// InitState: the first layer is random, since all-zero weights have no
// gradient.
func (r *yaad[F]) InitState(s []F, rnd *Rand) { initMLP(s, rnd) }

func initMLP[F Float](s []F, rnd *Rand) {
	half := len(s) / 2
	Uniform(rnd, s[:half], math.Sqrt(3))
	clear(s[half:])
}

// CacheLens: weights, and the steps of gradient and read of every token.
func (r *yaad[F]) CacheLens(dst []int, tokens int, keep bool) []int {
	n := kept(keep, tokens, 1)
	return append(dst, r.states.len(tokens, keep), n*r.m.gradLen(), n*r.m.readLen())
}

func (r *yaad[F]) Forward(_ *grad.Work[F], in *Tokens[F], s0, sT, y []F, cache [][]F) {
	m, size := &r.m, r.m.d*r.m.h
	grads, reads := newHistory(cache[1], m.gradLen()), newHistory(cache[2], m.readLen())
	r.states.begin(cache[0])
	copy(r.states.slot(0), s0)
	for t := range in.T {
		k, v, q := in.row(t, m.d)
		s, st := r.states.forward(t), m.gradStep(grads.at(t))
		m.gradient(s[:size], s[size:], k, v, st)
		r.advance(in, t, s, s, s0, st)
		m.read(s[:size], s[size:], q, m.readStep(reads.at(t)), y[t*m.d:][:m.d])
	}
	copy(sT, r.states.slot(0))
}

// advance computes the weights after token t; after may be before.
func (r *yaad[F]) advance(in *Tokens[F], t int, before, after, s0 []F, st mlpStep[F]) {
	m, size, th := &r.m, r.m.d*r.m.h, in.Gate[Theta][t]
	keep := 1 - in.Gate[Alpha][t] - th*r.lambda
	k, _, _ := in.row(t, m.d)
	stepOuter(after[:size], before[:size], keep, -th, m.cc, k)
	stepOuter(after[size:], before[size:], keep, -th, st.out, m.hid)
	if r.lambda != 0 {
		dense.Axpy(after, th*r.lambda, s0)
	}
}

func (r *yaad[F]) Backward(_ *grad.Work[F], in *Tokens[F], s0 []F, cache [][]F, dy, dsT []F, g *Tokens[F], ds0 []F) {
	m, size := &r.m, r.m.d*r.m.h
	grads, reads := newHistory(cache[1], m.gradLen()), newHistory(cache[2], m.readLen())
	r.states.begin(cache[0])
	r.dw, r.db = start(r.dw, dsT, 2*size), start(r.db, nil, 2*size)
	for lo, hi := 0, in.T; hi > 0; hi = lo {
		lo = r.states.enter(hi)
		for t := lo; t < hi; t++ {
			before, after := r.states.around(t)
			st := m.gradStep(grads.at(t))
			m.again(st)
			r.advance(in, t, before, after, s0, st)
		}
		for t := hi - 1; t >= lo; t-- {
			r.stepBack(in, g, t, s0, dy[t*m.d:][:m.d], m.gradStep(grads.at(t)), m.readStep(reads.at(t)))
		}
	}
	if ds0 != nil {
		dense.Add(ds0, r.dw)
		dense.Add(ds0, r.db)
	}
}

// stepBack is the adjoint of one token.
func (r *yaad[F]) stepBack(in, g *Tokens[F], t int, s0, dy []F, st, rd mlpStep[F]) {
	m, size := &r.m, r.m.d*r.m.h
	dw1, dw2 := r.dw[:size], r.dw[size:]
	k, _, q := in.row(t, m.d)
	dk, dv, dq := g.row(t, m.d)
	th := in.Gate[Theta][t]
	before, after := r.states.around(t)
	m.readBack(after[:size], after[size:], rd, dy, dq)
	dense.AddOuter(dw1, 1, m.da, q)
	dense.AddOuter(dw2, 1, m.do, m.hid)
	along := dense.Dot(r.dw, before)
	g.Gate[Alpha][t] = -along
	dth := m.gradientBack(before[:size], before[size:], k, st, th, dw1, dw2, dk, dv)
	if r.lambda != 0 {
		dth -= r.lambda * (along - dense.Dot(r.dw, s0))
		dense.Axpy(r.db, r.lambda*th, r.dw)
	}
	g.Gate[Theta][t] = dth
	keep := 1 - in.Gate[Alpha][t] - th*r.lambda
	dense.ScaleAddOuter(dw1, keep, 1, m.da, k)
	dense.ScaleAddOuter(dw2, keep, 1, st.out, m.db)
	dense.AddOuter(dw2, 1, m.do, m.hid)
}

func (r *yaad[F]) Read(_ *grad.Work[F], s, q, y []F) {
	size := r.m.d * r.m.h
	r.step = grow(r.step, r.m.readLen())
	r.m.readRows(s[:size], s[size:], q, y, r.step)
}

func (r *yaad[F]) ReadBack(_ *grad.Work[F], s, q, dy, dq []F) {
	size := r.m.d * r.m.h
	r.step = grow(r.step, r.m.readLen())
	r.m.readRowsBack(s[:size], s[size:], q, dy, dq, r.step)
}
