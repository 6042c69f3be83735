package rule

import (
	"math"

	"atenia/grad"
	"atenia/internal/kernel/dense"
)

// memora is the MLP memory whose weight rows are distributions times a mass
// (MIRAS, arXiv 2504.13173, section 5.3), stored as logarithms,
//
//	W = m exp(L) ;  L' = logsoftmax_row(rho L - theta G(W)) ;  y = f_W'(q)
//
// which is the exact minimizer of theta <G, W> plus the relative entropy.
type memora[F Float] struct {
	m       mlp[F]
	m1, m2  F
	states  trail[F] // L and W
	z, ones []F      // one row
	dl, w   []F
	step    []F
}

func newMEMORA[F Float](l *Layout) *memora[F] {
	c := l.Config
	n := max(l.D, c.Hidden)
	r := &memora[F]{m: newMLP(l, bias[F](squared[F]{})), m1: F(c.Mass1), m2: F(c.Mass2), z: make([]F, n), ones: make([]F, n),
		states: newTrail[F](4 * l.D * c.Hidden)}
	for i := range r.ones {
		r.ones[i] = 1
	}
	return r
}

// InitState: rows are distributions of random weights.
func (r *memora[F]) InitState(s []F, rnd *Rand) {
	d, h := r.m.d, r.m.h
	Uniform(rnd, s[:h*d], 2)
	Uniform(rnd, s[h*d:], 1)
	for i := range h {
		logSoftmax(s[i*d:][:d], r.z[:d], r.ones[:d], 1)
	}
	for i := range d {
		logSoftmax(s[h*d+i*h:][:h], r.z[:h], r.ones[:h], 1)
	}
}

// logSoftmax replaces z by its log-softmax and writes the softmax times mass to
// p; ones is a vector of ones of the same length. One pass of exponentials
// serves both: the logarithm of the sum follows from any entry that is not
// small.
func logSoftmax[F Float](z, p, ones []F, mass F) {
	dense.Softmax(p, z)
	j := 0
	for p[j] < 0.5/F(len(p)) && j < len(p)-1 {
		j++
	}
	dense.Axpy(z, F(math.Log(float64(p[j])))-z[j], ones)
	if mass != 1 {
		dense.Scale(p, mass)
	}
}

// CacheLens: log-weights and weights, and the steps of gradient and read.
func (r *memora[F]) CacheLens(dst []int, tokens int, keep bool) []int {
	n := kept(keep, tokens, 1)
	return append(dst, r.states.len(tokens, keep), n*r.m.gradLen(), n*r.m.readLen())
}

// weights writes m exp(L) of both matrices.
func (r *memora[F]) weights(w, s []F) {
	d, h := r.m.d, r.m.h
	for i := range h {
		exps(w[i*d:][:d], s[i*d:][:d], r.m1)
	}
	for i := range d {
		exps(w[h*d+i*h:][:h], s[h*d+i*h:][:h], r.m2)
	}
}

// exps writes mass exp(l) for a row whose exponentials sum to about one.
func exps[F Float](w, l []F, mass F) {
	dense.Softmax(w, l)
	dense.Scale(w, mass*F(math.Exp(float64(dense.LogSumExp(l)))))
}

// rows computes the rows of log-weights and weights after a step along x y^T.
func (r *memora[F]) rows(next, nextW, l []F, rho, th F, x, y []F, mass F) {
	n := len(y)
	stepOuter(next, l, rho, -th, x, y)
	for i := range x {
		logSoftmax(next[i*n:][:n], nextW[i*n:][:n], r.ones[:n], mass)
	}
}

// advance computes the state and the weights after token t; after may be
// before.
func (r *memora[F]) advance(in *Tokens[F], t int, before, after []F, st mlpStep[F]) {
	m, size := &r.m, r.m.d*r.m.h
	rho, th := 1-in.Gate[Alpha][t], in.Gate[Theta][t]
	k, _, _ := in.row(t, m.d)
	r.rows(after[:size], after[2*size:3*size], before[:size], rho, th, m.cc, k, r.m1)
	r.rows(after[size:2*size], after[3*size:], before[size:2*size], rho, th, st.out, m.hid, r.m2)
}

func (r *memora[F]) Forward(_ *grad.Work[F], in *Tokens[F], s0, sT, y []F, cache [][]F) {
	m, size := &r.m, r.m.d*r.m.h
	grads, reads := newHistory(cache[1], m.gradLen()), newHistory(cache[2], m.readLen())
	r.states.begin(cache[0])
	copy(r.states.slot(0), s0)
	r.weights(r.states.slot(0)[2*size:], s0)
	for t := range in.T {
		k, v, q := in.row(t, m.d)
		s, st := r.states.forward(t), m.gradStep(grads.at(t))
		m.gradient(s[2*size:3*size], s[3*size:], k, v, st)
		r.advance(in, t, s, s, st)
		m.read(s[2*size:3*size], s[3*size:], q, m.readStep(reads.at(t)), y[t*m.d:][:m.d])
	}
	copy(sT, r.states.slot(0)[:2*size])
}

func (r *memora[F]) Backward(_ *grad.Work[F], in *Tokens[F], _ []F, cache [][]F, dy, dsT []F, g *Tokens[F], ds0 []F) {
	m, size := &r.m, r.m.d*r.m.h
	r.states.begin(cache[0])
	r.dl = start(r.dl, dsT, 2*size)
	sweep[F](m, &r.states, r, in, cache, dy, g)
	if ds0 != nil {
		dense.Add(ds0, r.dl)
	}
}

// stepBack is the adjoint of one token.
func (r *memora[F]) stepBack(in, g *Tokens[F], t int, dy []F, st, rd mlpStep[F]) {
	m, size := &r.m, r.m.d*r.m.h
	dl1, dl2 := r.dl[:size], r.dl[size:]
	k, _, q := in.row(t, m.d)
	dk, dv, dq := g.row(t, m.d)
	rho, th := 1-in.Gate[Alpha][t], in.Gate[Theta][t]
	before, after := r.states.around(t)
	l1, l2, w1, w2 := before[:size], before[size:2*size], before[2*size:3*size], before[3*size:]
	next1, next2 := after[2*size:3*size], after[3*size:]
	m.readBack(next1, next2, rd, dy, dq)
	along := r.softmaxBack(dl1, l1, next1, m.da, q, r.m1)
	along += r.softmaxBack(dl2, l2, next2, m.do, m.hid, r.m2)
	g.Gate[Alpha][t] = -along
	g.Gate[Theta][t] = m.gradientBack(w1, w2, k, st, th, dl1, dl2, dk, dv)
	r.scaleAddOuterMul(dl1, rho, m.da, k, w1)
	r.scaleAddOuterMul(dl2, rho, st.out, m.db, w2)
	r.scaleAddOuterMul(dl2, 1, m.do, m.hid, w2)
}

// softmaxBack adds the adjoint x y^T of the weights to that of their
// logarithms, goes back through the softmax of every row and returns the dot
// product of the result with l. Rows of the result sum to zero, so l is taken
// relative to its rows' means, which loses less to rounding.
func (r *memora[F]) softmaxBack(dl, l, w, x, y []F, mass F) (along F) {
	n := len(y)
	z, ones := r.z[:n], r.ones[:n]
	for i, v := range x {
		row, p, old := dl[i*n:][:n], w[i*n:][:n], l[i*n:][:n]
		dense.Mul(z, y, p)
		dense.Axpy(row, v, z)
		dense.Axpy(row, -dense.Dot(row, ones)/mass, p)
		copy(z, old)
		dense.Axpy(z, -dense.Dot(old, ones)/F(n), ones)
		along += dense.Dot(row, z)
	}
	return along
}

// scaleAddOuterMul replaces m by s m + (x y^T) w, element by element.
func (r *memora[F]) scaleAddOuterMul(m []F, s F, x, y, w []F) {
	n := len(y)
	z := r.z[:n]
	if s != 1 {
		dense.Scale(m, s)
	}
	for i, v := range x {
		dense.Mul(z, y, w[i*n:][:n])
		dense.Axpy(m[i*n:][:n], v, z)
	}
}

// frozen returns the weights of a state that is only read.
func (r *memora[F]) frozen(s []F) (w1, w2 []F) {
	size := r.m.d * r.m.h
	r.w, r.step = grow(r.w, 2*size), grow(r.step, r.m.readLen())
	r.weights(r.w, s)
	return r.w[:size], r.w[size:]
}

func (r *memora[F]) Read(_ *grad.Work[F], s, q, y []F) {
	w1, w2 := r.frozen(s)
	r.m.readRows(w1, w2, q, y, r.step)
}

func (r *memora[F]) ReadBack(_ *grad.Work[F], s, q, dy, dq []F) {
	w1, w2 := r.frozen(s)
	r.m.readRowsBack(w1, w2, q, dy, dq, r.step)
}
