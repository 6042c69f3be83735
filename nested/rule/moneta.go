package rule

import "atenia/internal/dense"

// moneta is the MLP memory under an lp loss whose weights minimise a q-norm
// (MIRAS, arXiv 2504.13173, section 5.3),
//
//	A' = rho A - theta G(W) ;  W' = link(A') ;  y = f_W'(q)
type moneta[F Float] struct {
	m         mlp[F]
	l         link[F]
	da, dw, w []F // adjoints of the state and of the weights; weights of a read
	step      []F
}

func newMoneta[F Float](l *Layout) *moneta[F] {
	c := l.Config
	return &moneta[F]{m: newMLP(l, bias[F](power[F]{c.P, c.LpEps, c.LpClip})), l: link[F]{c.Q, c.LqEps, c.LqForm == Dual}}
}

// InitState: link(0) is 0, and its gradient is finite.
func (r *moneta[F]) InitState(s []F, rnd *Rand) { initMLP(s, rnd) }

// CacheLens: states, weights, denominators and means of the links, and the
// steps of gradient and read of every token.
func (r *moneta[F]) CacheLens(dst []int, tokens int, keep bool) []int {
	size, n, some := 2*r.m.d*r.m.h, kept(keep, tokens, 1), kept(keep, tokens+1, 2)
	return append(dst, size*some, size*some, 4*some, n*r.m.gradLen(), n*r.m.readLen())
}

// weights writes both matrices of weights of a state, and the denominators and
// means of their links.
func (r *moneta[F]) weights(w, a, links []F) {
	size := r.m.d * r.m.h
	links[0], links[1] = r.l.apply(w[:size], a[:size])
	links[2], links[3] = r.l.apply(w[size:], a[size:])
}

// weightsBack adds the adjoint of the state, given that of its weights.
func (r *moneta[F]) weightsBack(da, a, w, dw, links []F) {
	size := r.m.d * r.m.h
	r.l.back(da[:size], a[:size], w[:size], dw[:size], links[0], links[1])
	r.l.back(da[size:], a[size:], w[size:], dw[size:], links[2], links[3])
}

type monetaCache[F Float] struct{ states, weights, links, grads, reads history[F] }

func (r *moneta[F]) cache(c [][]F) monetaCache[F] {
	size := 2 * r.m.d * r.m.h
	return monetaCache[F]{newHistory(c[0], size), newHistory(c[1], size), newHistory(c[2], 4),
		newHistory(c[3], r.m.gradLen()), newHistory(c[4], r.m.readLen())}
}

func (r *moneta[F]) Forward(_ *dense.Work[F], in *Tokens[F], s0, sT, y []F, cache [][]F) {
	m, size, c := &r.m, r.m.d*r.m.h, r.cache(cache)
	copy(c.states.at(0), s0)
	r.weights(c.weights.at(0), s0, c.links.at(0))
	for t := range in.T {
		k, v, q := in.row(t, m.d)
		rho, th := 1-in.Gate[Alpha][t], in.Gate[Theta][t]
		a, next, w, nextW := c.states.at(t), c.states.at(t+1), c.weights.at(t), c.weights.at(t+1)
		st := m.gradStep(c.grads.at(t))
		m.gradient(w[:size], w[size:], k, v, st)
		stepOuter(next[:size], a[:size], rho, -th, m.cc, k)
		stepOuter(next[size:], a[size:], rho, -th, st.out, m.hid)
		r.weights(nextW, next, c.links.at(t+1))
		m.read(nextW[:size], nextW[size:], q, m.readStep(c.reads.at(t)), y[t*m.d:][:m.d])
	}
	copy(sT, c.states.at(in.T))
}

func (r *moneta[F]) Backward(_ *dense.Work[F], in *Tokens[F], _ []F, cache [][]F, dy, dsT []F, g *Tokens[F], ds0 []F) {
	m, size, c := &r.m, r.m.d*r.m.h, r.cache(cache)
	r.da, r.dw = start(r.da, dsT, 2*size), start(r.dw, nil, 2*size)
	dw1, dw2 := r.dw[:size], r.dw[size:]
	for t := in.T - 1; t >= 0; t-- {
		k, _, q := in.row(t, m.d)
		dk, dv, dq := g.row(t, m.d)
		rho, th := 1-in.Gate[Alpha][t], in.Gate[Theta][t]
		w, nextW := c.weights.at(t), c.weights.at(t+1)
		m.readBack(nextW[:size], nextW[size:], m.readStep(c.reads.at(t)), dy[t*m.d:][:m.d], dq)
		dense.AddOuter(dw1, 1, m.da, q)
		dense.AddOuter(dw2, 1, m.do, m.hid)
		r.weightsBack(r.da, c.states.at(t+1), nextW, r.dw, c.links.at(t+1))
		g.Gate[Alpha][t] = -dense.Dot(r.da, c.states.at(t))
		st := m.gradStep(c.grads.at(t))
		g.Gate[Theta][t] = m.gradientBack(w[:size], w[size:], k, st, th, r.da[:size], r.da[size:], dk, dv)
		dense.ScaleAddOuter(dw1, 0, 1, m.da, k)
		dense.ScaleAddOuter(dw2, 0, 1, st.out, m.db)
		dense.AddOuter(dw2, 1, m.do, m.hid)
		dense.Scale(r.da, rho)
	}
	if ds0 != nil {
		r.weightsBack(r.da, c.states.at(0), c.weights.at(0), r.dw, c.links.at(0))
		dense.Add(ds0, r.da)
	}
}

// frozen returns the weights of a state that is only read.
func (r *moneta[F]) frozen(s []F) (w1, w2 []F) {
	var links [4]F
	size := r.m.d * r.m.h
	r.w, r.step = grow(r.w, 2*size), grow(r.step, r.m.readLen())
	r.weights(r.w, s, links[:])
	return r.w[:size], r.w[size:]
}

func (r *moneta[F]) Read(_ *dense.Work[F], s, q, y []F) {
	w1, w2 := r.frozen(s)
	r.m.readRows(w1, w2, q, y, r.step)
}

func (r *moneta[F]) ReadBack(_ *dense.Work[F], s, q, dy, dq []F) {
	w1, w2 := r.frozen(s)
	r.m.readRowsBack(w1, w2, q, dy, dq, r.step)
}
