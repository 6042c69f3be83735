package rule

import (
	"math"

	"atenia/internal/kernel/dense"
)

// mlp is the two-layer memory that Moneta, YAAD and MEMORA share,
//
//	a = W1 x ; h = silu(a) ; o = W2 h / sqrt(hidden)
//	f(x) = o, or x + LN(o)
//
// its inner gradient G1 = cc k^T, G2 = go h^T, and the adjoint of that, a
// second derivative. Gradients are kept as the factors of their outer products.
type mlp[F Float] struct {
	d, h   int
	ln     bool
	eps, s F

	loss            bias[F]
	hid, cc, s1, s2 []F // [h]
	db, da, dh      []F // [h], adjoints
	g, do, dgo, t   []F // [d]
}

// bias is the inner loss as a function of an error: its derivative, and the
// second derivative that multiplies an adjoint.
type bias[F Float] interface {
	pull(g, e []F)
	pullBack(d, e []F)
}

func newMLP[F Float](l *Layout, loss bias[F]) mlp[F] {
	c, d, h := l.Config, l.D, l.Config.Hidden
	buf := make([]F, 7*h+4*d)
	m := mlp[F]{d: d, h: h, ln: c.Form == LnRes, eps: F(c.LnEps), s: F(1 / math.Sqrt(float64(h))), loss: loss}
	for _, p := range []*[]F{&m.hid, &m.cc, &m.s1, &m.s2, &m.db, &m.da, &m.dh} {
		*p = carve(&buf, h)
	}
	for _, p := range []*[]F{&m.g, &m.do, &m.dgo, &m.t} {
		*p = carve(&buf, d)
	}
	return m
}

// An mlpStep is what one pass through the memory leaves for its adjoint.
type mlpStep[F Float] struct {
	a, sig, b []F // [h]: W1 x, its sigmoid, W2^T go
	e, out, n []F // [d]: error, go, LN(o)
	sd        []F // [1]: the denominator of LN
}

// Lengths of an [mlpStep] of a gradient and of a read.
func (m *mlp[F]) gradLen() int { return 3*m.h + 3*m.d + 1 }
func (m *mlp[F]) readLen() int { return 2*m.h + m.d + 1 }

func (m *mlp[F]) gradStep(buf []F) mlpStep[F] {
	st := m.readStep(buf)
	buf = buf[m.readLen():]
	st.b, st.e, st.out = carve(&buf, m.h), carve(&buf, m.d), carve(&buf, m.d)
	return st
}

func (m *mlp[F]) readStep(buf []F) mlpStep[F] {
	return mlpStep[F]{a: carve(&buf, m.h), sig: carve(&buf, m.h), n: carve(&buf, m.d), sd: carve(&buf, 1)}
}

// forward writes o or LN(o) to out, and intermediate values to st and hid.
func (m *mlp[F]) forward(w1, w2, x []F, st mlpStep[F], out []F) {
	dense.MatVec(st.a, w1, x)
	dense.Activate(dense.Sigmoid, st.sig, st.a)
	dense.Mul(m.hid, st.a, st.sig)
	dense.MatVec(out, w2, m.hid)
	dense.Scale(out, m.s)
	if m.ln {
		st.sd[0] = layerNorm(out, m.eps)
		copy(st.n, out)
	}
}

// read writes f(q).
func (m *mlp[F]) read(w1, w2, q []F, st mlpStep[F], y []F) {
	m.forward(w1, w2, q, st, y)
	if m.ln {
		dense.Add(y, q)
	}
}

// layerNorm normalises o in place and returns its denominator.
func layerNorm[F Float](o []F, eps F) F {
	n := F(len(o))
	var mean, v F
	for _, x := range o {
		mean += x
	}
	mean /= n
	for i, x := range o {
		o[i] = x - mean
		v += F(o[i] * o[i])
	}
	sd := F(math.Sqrt(float64(v/n + eps)))
	for i, x := range o {
		o[i] = x / sd
	}
	return sd
}

// layerNormBack turns the adjoint d of n = LN(o) into that of o.
func layerNormBack[F Float](d, n []F, sd F) {
	var mean, along F
	for i, x := range d {
		mean += x
		along += F(x * n[i])
	}
	mean /= F(len(d))
	along /= F(len(d))
	for i, x := range d {
		d[i] = (x - mean - F(n[i]*along)) / sd
	}
}

// readBack writes the adjoint of q for that of the answer; those of W1 and W2
// are da q^T and do hid^T.
func (m *mlp[F]) readBack(w1, w2 []F, st mlpStep[F], dy, dq []F) {
	copy(m.do, dy)
	if m.ln {
		layerNormBack(m.do, st.n, st.sd[0])
	}
	dense.Scale(m.do, m.s)
	dense.MatVecT(m.dh, w2, m.do)
	dense.Mul(m.hid, st.a, st.sig)
	clear(m.da)
	dense.ActivateBack(dense.SiLU, m.da, st.a, m.dh)
	dense.MatVecT(dq, w1, m.da)
	if m.ln {
		dense.Add(dq, dy)
	}
}

// gradient computes the inner gradient at (k, v): cc k^T for W1 and
// st.out hid^T for W2.
func (m *mlp[F]) gradient(w1, w2, k, v []F, st mlpStep[F]) {
	m.forward(w1, w2, k, st, st.e)
	if m.ln {
		dense.Add(st.e, k)
	}
	dense.Axpy(st.e, -1, v)
	m.loss.pull(st.out, st.e)
	if m.ln {
		layerNormBack(st.out, st.n, st.sd[0])
	}
	dense.Scale(st.out, m.s)
	dense.MatVecT(st.b, w2, st.out)
	m.slopes(st)
}

// slopes computes cc from a step.
func (m *mlp[F]) slopes(st mlpStep[F]) {
	clear(m.cc)
	dense.ActivateBack(dense.SiLU, m.cc, st.a, st.b)
}

// A stepper is a rule over an [mlp] whose states are recomputed stride by stride
// in the backward pass.
type stepper[F Float] interface {
	advance(in *Tokens[F], t int, before, after []F, st mlpStep[F])
	stepBack(in, g *Tokens[F], t int, dy []F, st, rd mlpStep[F])
}

// sweep runs the backward pass over all tokens: forward through a stride, to
// have the states around each of its tokens, then backward through it.
func sweep[F Float](m *mlp[F], states *trail[F], r stepper[F], in *Tokens[F], cache [][]F, dy []F, g *Tokens[F]) {
	grads, reads := newHistory(cache[1], m.gradLen()), newHistory(cache[2], m.readLen())
	for lo, hi := 0, in.T; hi > 0; hi = lo {
		lo = states.enter(hi)
		for t := lo; t < hi; t++ {
			before, after := states.around(t)
			st := m.gradStep(grads.at(t))
			m.again(st)
			r.advance(in, t, before, after, st)
		}
		for t := hi - 1; t >= lo; t-- {
			r.stepBack(in, g, t, dy[t*m.d:][:m.d], m.gradStep(grads.at(t)), m.readStep(reads.at(t)))
		}
	}
}

// again recomputes cc and hid of a step, the factors of the gradient's outer
// products.
func (m *mlp[F]) again(st mlpStep[F]) {
	dense.Mul(m.hid, st.a, st.sig)
	m.slopes(st)
}

// gradientBack is the adjoint of [mlp.gradient], where the gradient is added to
// the weights times -theta and dA1, dA2 are the adjoints of the weights. It
// writes the adjoints of k and v and returns that of theta. Those of W1 and W2
// are da k^T and go db^T + do hid^T; go is st.out.
func (m *mlp[F]) gradientBack(w1, w2, k []F, st mlpStep[F], theta F, dA1, dA2, dk, dv []F) (dtheta F) {
	for i, a := range st.a {
		sg := st.sig[i]
		m.hid[i] = a * sg
		m.s1[i] = sg * (1 + F(a*(1-sg)))
		m.s2[i] = sg * (1 - sg) * (2 + F(a*(1-F(2*sg))))
		m.cc[i] = st.b[i] * m.s1[i]
	}
	dense.MatVec(m.db, dA1, k)
	dtheta -= dense.Dot(m.cc, m.db)
	dense.MatVecT(dk, dA1, m.cc)
	dense.Scale(dk, -theta)
	for i, u := range m.db { // cc = b silu'(a)
		u *= -theta
		m.db[i] = u * m.s1[i]
		m.da[i] = u * st.b[i] * m.s2[i]
	}
	dense.MatVec(m.t, dA2, m.hid)
	dtheta -= dense.Dot(st.out, m.t)
	dense.MatVecT(m.dh, dA2, st.out)
	dense.Scale(m.dh, -theta)
	dense.MatVec(m.dgo, w2, m.db) // b = W2^T go
	dense.Axpy(m.dgo, -theta, m.t)
	dense.Scale(m.dgo, m.s)
	if m.ln {
		m.errorBack(st, dk)
	} else {
		copy(m.do, m.dgo)
		m.loss.pullBack(m.do, st.e)
		copy(m.dgo, m.do)
	}
	for i, v := range m.dgo {
		dv[i] = -v
	}
	dense.Scale(m.do, m.s)
	dense.MatVecT(m.cc, w2, m.do)
	dense.Add(m.dh, m.cc)
	dense.AddMul(m.da, m.dh, m.s1)
	dense.AddMatVecT(dk, w1, m.da)
	return dtheta
}

// errorBack goes back through go = LN^T psi(e), e = k + n - v and n = LN(o):
// from the adjoint dgo of go / s to that of the error, which it leaves in dgo,
// and that of o, in do. It adds to dk.
func (m *mlp[F]) errorBack(st mlpStep[F], dk []F) {
	d, sd, n, dgo := F(m.d), st.sd[0], st.n, m.dgo
	m.loss.pull(m.g, st.e)
	mu := dense.Dot(m.g, n) / d
	dsd := -dense.Dot(dgo, st.out) / (m.s * sd)
	dense.Scale(dgo, 1/sd) // adjoint of g - mean g - n mu
	dmu := -dense.Dot(n, dgo)
	var mean F
	for _, v := range dgo {
		mean += v
	}
	mean /= d
	for i, v := range dgo {
		m.do[i] = F(dmu*m.g[i]/d) - F(mu*v) // adjoint of n
		dgo[i] = v - mean + F(dmu*n[i]/d)
	}
	m.loss.pullBack(dgo, st.e)
	dense.Add(dk, dgo)
	dense.Add(m.do, dgo)
	dsd -= dense.Dot(m.do, n) / sd
	mean = 0
	for i, v := range m.do {
		m.do[i] = v/sd + F(dsd*n[i]/d)
		mean += m.do[i]
	}
	mean /= d
	for i := range m.do {
		m.do[i] -= mean
	}
}

// stepOuter writes r m + s x y^T to dst, which may be m.
func stepOuter[F Float](dst, m []F, r, s F, x, y []F) {
	if &dst[0] != &m[0] {
		copy(dst, m)
	}
	dense.ScaleAddOuter(dst, r, s, x, y)
}

// readRows reads each row of q with weights w1 and w2.
func (m *mlp[F]) readRows(w1, w2, q, y, step []F) {
	st := m.readStep(step)
	for t := range len(q) / m.d {
		m.read(w1, w2, q[t*m.d:][:m.d], st, y[t*m.d:][:m.d])
	}
}

// readRowsBack writes the adjoints of the rows of q.
func (m *mlp[F]) readRowsBack(w1, w2, q, dy, dq, step []F) {
	st := m.readStep(step)
	for t := range len(q) / m.d {
		m.forward(w1, w2, q[t*m.d:][:m.d], st, m.t)
		m.readBack(w1, w2, st, dy[t*m.d:][:m.d], dq[t*m.d:][:m.d])
	}
}

// squared is the loss |e|^2 / 2.
type squared[F Float] struct{}

func (squared[F]) pull(g, e []F)     { copy(g, e) }
func (squared[F]) pullBack(_, _ []F) {}

// huber is Huber's loss, coordinate by coordinate.
type huber[F Float] struct{ delta F }

func (h huber[F]) pull(g, e []F) {
	for i, v := range e {
		g[i] = min(max(v, -h.delta), h.delta)
	}
}

func (h huber[F]) pullBack(d, e []F) {
	for i, v := range e {
		if v >= h.delta || v <= -h.delta {
			d[i] = 0
		}
	}
}

// power is the loss sum |e|^p, smoothed at zero and linear beyond the clip.
type power[F Float] struct{ p, eps, clip float64 }

func (l power[F]) pull(g, e []F) {
	for i, v := range e {
		x := min(max(float64(v), -l.clip), l.clip)
		g[i] = F(l.p * x * linkPow(x*x+l.eps, (l.p-2)/2))
	}
}

func (l power[F]) pullBack(d, e []F) {
	for i, v := range e {
		x := float64(v)
		if !(math.Abs(x) < l.clip) {
			d[i] = 0
			continue
		}
		u := x*x + l.eps
		d[i] *= F(l.p * linkPow(u, (l.p-4)/2) * ((l.p-1)*x*x + l.eps))
	}
}
