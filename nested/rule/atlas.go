package rule

import (
	"atenia/grad"
	"atenia/internal/kernel/dense"
)

// atlas is AtlasOmega (arXiv 2505.23735): a token's update uses the errors of
// the last c tokens together, and its momentum is orthogonalized by
// Newton–Schulz iteration,
//
//	G = sum_i (gamma_i / c) (M phi(k_i) - v_i) phi(k_i)^T
//	S' = eta S + G ;  U = NS(S') ;  M' = rho M - theta U ;  y = M' phi(q)
//
// The c - 1 tokens before a chunk are in the state; gamma = 0 marks missing
// ones.
type atlas[F Float] struct {
	d, f, c    int
	ns         newtonSchulz[F]
	scaled, u  []F // [c, d]
	dk, dv, dg []F // adjoints of the tokens before the chunk and in it
	dm, ds     []F
	du, phi    []F
}

func newAtlas[F Float](l *Layout) *atlas[F] {
	f, c := featureDim(l.D, l.Config.Feature), l.Config.Window
	return &atlas[F]{d: l.D, f: f, c: c, ns: newNewtonSchulz[F](l.D, f, l.Config.NSIters),
		scaled: make([]F, c*l.D), u: make([]F, c*l.D), du: make([]F, l.D*f), phi: make([]F, f)}
}

func (r *atlas[F]) InitState(s []F, _ *Rand) { clear(s) }

// CacheLens: M and S; the iterates; the window's errors; features of keys,
// values and weights from c-1 tokens before the chunk on; features of queries.
func (r *atlas[F]) CacheLens(dst []int, tokens int, keep bool) []int {
	size, some, n, ext := r.d*r.f, kept(keep, tokens+1, 2), kept(keep, tokens, 1), tokens+r.c-1
	iterates := 0
	if r.ns.Iters > 0 {
		iterates = n * r.ns.Iterates() * size
	}
	return append(dst, some*size, some*size, iterates, n*r.c*r.d, ext*r.f, ext*r.d, ext, n*r.f)
}

type atlasCache[F Float] struct {
	m, s, xs, es, pq history[F]
	k, v, g          []F // from c-1 tokens before the chunk
}

func (r *atlas[F]) cache(c [][]F) atlasCache[F] {
	size := r.d * r.f
	return atlasCache[F]{newHistory(c[0], size), newHistory(c[1], size), newHistory(c[2], r.ns.Iterates()*size),
		newHistory(c[3], r.c*r.d), newHistory(c[7], r.f), c[4], c[5], c[6]}
}

// parts returns the arrays of a state.
func (r *atlas[F]) parts(s []F) (m, mom, k, v, g []F) {
	size, n := r.d*r.f, r.c-1
	return carve(&s, size), carve(&s, size), carve(&s, n*r.f), carve(&s, n*r.d), s
}

func (r *atlas[F]) Forward(w *grad.Work[F], in *Tokens[F], s0, sT, y []F, cache [][]F) {
	d, f, c, n := r.d, r.f, r.cache(cache), r.c-1
	m0, mom0, k0, v0, g0 := r.parts(s0)
	copy(c.m.at(0), m0)
	copy(c.s.at(0), mom0)
	copy(c.k, k0)
	copy(c.v, v0)
	copy(c.v[n*d:], in.V)
	copy(c.g, g0)
	copy(c.g[n:], in.Gate[Gamma])
	for t := range in.T {
		feature(c.k[(n+t)*f:][:f], in.K[t*d:][:d])
	}
	for t := range in.T {
		m, next, s, nextS, es, pq := c.m.at(t), c.m.at(t+1), c.s.at(t), c.s.at(t+1), c.es.at(t), c.pq.at(t)
		keys := c.k[t*f:][:r.c*f]
		w.MulT(es, keys, m, r.c, f, d)
		dense.Axpy(es, -1, c.v[t*d:][:r.c*d])
		r.weigh(es, c.g[t:])
		scaleTo(nextS, in.Gate[Eta][t], s)
		w.AddTMul(nextS, r.scaled, keys, d, r.c, f)
		u := nextS
		if r.ns.Iters > 0 {
			xs := c.xs.at(t)
			r.ns.Apply(w, xs, nextS)
			u = xs[r.ns.Iters*d*f:]
		}
		scaleTo(next, 1-in.Gate[Alpha][t], m)
		dense.Axpy(next, -in.Gate[Theta][t], u)
		feature(pq, in.Q[t*d:][:d])
		dense.MatVec(y[t*d:][:d], next, pq)
	}
	mT, momT, kT, vT, gT := r.parts(sT)
	copy(mT, c.m.at(in.T))
	copy(momT, c.s.at(in.T))
	copy(kT, c.k[in.T*f:])
	copy(vT, c.v[in.T*d:])
	copy(gT, c.g[in.T:])
}

// weigh sets scaled to the rows of es, each times its token's weight over c.
func (r *atlas[F]) weigh(es, gamma []F) {
	for i := range r.c {
		scaleTo(r.scaled[i*r.d:][:r.d], gamma[i]/F(r.c), es[i*r.d:][:r.d])
	}
}

func (r *atlas[F]) Backward(w *grad.Work[F], in *Tokens[F], _ []F, cache [][]F, dy, dsT []F, g *Tokens[F], ds0 []F) {
	d, f, c, n := r.d, r.f, r.cache(cache), r.c-1
	ext := in.T + n
	r.dk, r.dv, r.dg = start(r.dk, nil, ext*f), start(r.dv, nil, ext*d), start(r.dg, nil, ext)
	if dsT != nil {
		m, mom, k, v, gm := r.parts(dsT)
		r.dm, r.ds = start(r.dm, m, d*f), start(r.ds, mom, d*f)
		copy(r.dk[in.T*f:], k)
		copy(r.dv[in.T*d:], v)
		copy(r.dg[in.T:], gm)
	} else {
		r.dm, r.ds = start(r.dm, nil, d*f), start(r.ds, nil, d*f)
	}
	for t := in.T - 1; t >= 0; t-- {
		dyt := dy[t*d:][:d]
		dense.AddOuter(r.dm, 1, dyt, c.pq.at(t))
		dense.MatVecT(r.phi, c.m.at(t+1), dyt)
		featureBack(g.Q[t*d:][:d], in.Q[t*d:][:d], r.phi)
		r.stepBack(w, in, g, c, t)
	}
	for t := range in.T {
		featureBack(g.K[t*d:][:d], in.K[t*d:][:d], r.dk[(n+t)*f:][:f])
	}
	copy(g.V, r.dv[n*d:])
	copy(g.Gate[Gamma], r.dg[n:])
	if ds0 != nil {
		m, mom, k, v, gm := r.parts(ds0)
		dense.Add(m, r.dm)
		dense.Add(mom, r.ds)
		dense.Add(k, r.dk[:n*f])
		dense.Add(v, r.dv[:n*d])
		dense.Add(gm, r.dg[:n])
	}
}

// stepBack is the adjoint of one token's write.
func (r *atlas[F]) stepBack(w *grad.Work[F], in, g *Tokens[F], c atlasCache[F], t int) {
	d, f := r.d, r.f
	m, s, nextS, es := c.m.at(t), c.s.at(t), c.s.at(t+1), c.es.at(t)
	rho, th, eta := 1-in.Gate[Alpha][t], in.Gate[Theta][t], in.Gate[Eta][t]
	g.Gate[Alpha][t] = -dense.Dot(r.dm, m)
	if r.ns.Iters > 0 {
		xs := c.xs.at(t)
		g.Gate[Theta][t] = -dense.Dot(r.dm, xs[r.ns.Iters*d*f:])
		scaleTo(r.du, -th, r.dm)
		r.ns.Back(w, r.ds, r.du, xs, nextS)
	} else {
		g.Gate[Theta][t] = -dense.Dot(r.dm, nextS)
		dense.Axpy(r.ds, -th, r.dm)
	}
	g.Gate[Eta][t] = dense.Dot(r.ds, s)
	keys, dkeys, gamma := c.k[t*f:][:r.c*f], r.dk[t*f:][:r.c*f], c.g[t:]
	w.MulT(r.u, keys, r.ds, r.c, f, d)
	for i := range r.c {
		r.dg[t+i] += dense.Dot(es[i*d:][:d], r.u[i*d:][:d]) / F(r.c)
		dense.Scale(r.u[i*d:][:d], gamma[i]/F(r.c)) // adjoint of the error
	}
	r.weigh(es, gamma)
	w.AddMul(dkeys, r.scaled, r.ds, r.c, d, f)
	w.AddMul(dkeys, r.u, m, r.c, d, f)
	dense.Axpy(r.dv[t*d:][:r.c*d], -1, r.u)
	dense.Scale(r.dm, rho)
	w.AddTMul(r.dm, r.u, keys, d, r.c, f)
	dense.Scale(r.ds, eta)
}

func (r *atlas[F]) Read(_ *grad.Work[F], s, q, y []F) {
	for t := range len(q) / r.d {
		feature(r.phi, q[t*r.d:][:r.d])
		dense.MatVec(y[t*r.d:][:r.d], s[:r.d*r.f], r.phi)
	}
}

func (r *atlas[F]) ReadBack(_ *grad.Work[F], s, q, dy, dq []F) {
	for t := range len(q) / r.d {
		dense.MatVecT(r.phi, s[:r.d*r.f], dy[t*r.d:][:r.d])
		featureBack(dq[t*r.d:][:r.d], q[t*r.d:][:r.d], r.phi)
	}
}
