package rule

import (
	"atenia/grad"
	"atenia/internal/kernel/dense"
)

// moneta is the MLP memory under an lp loss whose weights minimize a q-norm
// (MIRAS, arXiv 2504.13173, section 5.3),
//
//	A' = rho A - theta G(W) ;  W' = link(A') ;  y = f_W'(q)
type moneta[F Float] struct {
	m         mlp[F]
	l         linkMap[F]
	states    trail[F] // A, W, denominators and means of the links
	da, dw, w []F      // adjoints of the state and of the weights; weights of a read
	step      []F
}

func newMoneta[F Float](l *Layout) *moneta[F] {
	c := l.Config
	return &moneta[F]{m: newMLP(l, bias[F](power[F]{c.P, c.LpEps, c.LpClip})), l: linkMap[F]{Q: c.Q, Eps: c.LqEps, Dual: c.LqForm == Dual},
		states: newTrail[F](4*l.D*c.Hidden + 4)}
}

// InitState: link(0) is 0, and its gradient is finite.
func (r *moneta[F]) InitState(s []F, rnd *Rand) { initMLP(s, rnd) }

// CacheLens: states, and the steps of gradient and read of every token.
func (r *moneta[F]) CacheLens(dst []int, tokens int, keep bool) []int {
	n := kept(keep, tokens, 1)
	return append(dst, r.states.len(tokens, keep), n*r.m.gradLen(), n*r.m.readLen())
}

// parts returns the arrays of a step's state.
func (r *moneta[F]) parts(s []F) (a, w, links []F) {
	size := 2 * r.m.d * r.m.h
	return s[:size], s[size:][:size], s[2*size:]
}

// weights computes both weight matrices of a state, and the denominators and
// means of their links.
func (r *moneta[F]) weights(w, a, links []F) {
	size := r.m.d * r.m.h
	links[0], links[1] = r.l.Apply(w[:size], a[:size])
	links[2], links[3] = r.l.Apply(w[size:], a[size:])
}

// weightsBack adds the adjoint of the state for that of its weights.
func (r *moneta[F]) weightsBack(da, a, w, dw, links []F) {
	size := r.m.d * r.m.h
	r.l.Back(da[:size], a[:size], w[:size], dw[:size], links[0], links[1])
	r.l.Back(da[size:], a[size:], w[size:], dw[size:], links[2], links[3])
}

func (r *moneta[F]) Forward(_ *grad.Work[F], in *Tokens[F], s0, sT, y []F, cache [][]F) {
	m, size := &r.m, r.m.d*r.m.h
	grads, reads := newHistory(cache[1], m.gradLen()), newHistory(cache[2], m.readLen())
	r.states.begin(cache[0])
	a, w, links := r.parts(r.states.slot(0))
	copy(a, s0)
	r.weights(w, a, links)
	for t := range in.T {
		k, v, q := in.row(t, m.d)
		s, st := r.states.forward(t), m.gradStep(grads.at(t))
		m.gradient(w[:size], w[size:], k, v, st)
		r.advance(in, t, s, s, st)
		m.read(w[:size], w[size:], q, m.readStep(reads.at(t)), y[t*m.d:][:m.d])
	}
	copy(sT, a)
}

// advance computes the state and the weights after token t; after may be
// before.
func (r *moneta[F]) advance(in *Tokens[F], t int, before, after []F, st mlpStep[F]) {
	m, size := &r.m, r.m.d*r.m.h
	rho, th := 1-in.Gate[Alpha][t], in.Gate[Theta][t]
	k, _, _ := in.row(t, m.d)
	a, _, _ := r.parts(before)
	next, w, links := r.parts(after)
	stepOuter(next[:size], a[:size], rho, -th, m.cc, k)
	stepOuter(next[size:], a[size:], rho, -th, st.out, m.hid)
	r.weights(w, next, links)
}

func (r *moneta[F]) Backward(_ *grad.Work[F], in *Tokens[F], _ []F, cache [][]F, dy, dsT []F, g *Tokens[F], ds0 []F) {
	m, size := &r.m, r.m.d*r.m.h
	r.states.begin(cache[0])
	r.da, r.dw = start(r.da, dsT, 2*size), start(r.dw, nil, 2*size)
	sweep[F](m, &r.states, r, in, cache, dy, g)
	if ds0 != nil {
		a, w, links := r.parts(r.states.slot(0))
		r.weightsBack(r.da, a, w, r.dw, links)
		dense.Add(ds0, r.da)
	}
}

// stepBack is the adjoint of one token. The adjoint of the weights comes from
// the gradient of the following token.
func (r *moneta[F]) stepBack(in, g *Tokens[F], t int, dy []F, st, rd mlpStep[F]) {
	m, size := &r.m, r.m.d*r.m.h
	dw1, dw2 := r.dw[:size], r.dw[size:]
	k, _, q := in.row(t, m.d)
	dk, dv, dq := g.row(t, m.d)
	before, after := r.states.around(t)
	a, w, _ := r.parts(before)
	next, nextW, links := r.parts(after)
	m.readBack(nextW[:size], nextW[size:], rd, dy, dq)
	dense.AddOuter(dw1, 1, m.da, q)
	dense.AddOuter(dw2, 1, m.do, m.hid)
	r.weightsBack(r.da, next, nextW, r.dw, links)
	g.Gate[Alpha][t] = -dense.Dot(r.da, a)
	g.Gate[Theta][t] = m.gradientBack(w[:size], w[size:], k, st, in.Gate[Theta][t], r.da[:size], r.da[size:], dk, dv)
	dense.ScaleAddOuter(dw1, 0, 1, m.da, k)
	dense.ScaleAddOuter(dw2, 0, 1, st.out, m.db)
	dense.AddOuter(dw2, 1, m.do, m.hid)
	dense.Scale(r.da, 1-in.Gate[Alpha][t])
}

// frozen returns the weights of a state that is only read.
func (r *moneta[F]) frozen(s []F) (w1, w2 []F) {
	var links [4]F
	size := r.m.d * r.m.h
	r.w, r.step = grow(r.w, 2*size), grow(r.step, r.m.readLen())
	r.weights(r.w, s, links[:])
	return r.w[:size], r.w[size:]
}

func (r *moneta[F]) Read(_ *grad.Work[F], s, q, y []F) {
	w1, w2 := r.frozen(s)
	r.m.readRows(w1, w2, q, y, r.step)
}

func (r *moneta[F]) ReadBack(_ *grad.Work[F], s, q, dy, dq []F) {
	w1, w2 := r.frozen(s)
	r.m.readRowsBack(w1, w2, q, dy, dq, r.step)
}
