package tape

import (
	"math"

	"atenia/grad"
	"atenia/internal/kernel/dense"
	"atenia/internal/plan"
)

// shifted writes x_t + (x_(t−1) − x_t) ⊙ μ for the rows of every document.
func shifted[F Float](y, x, mu []F, lens []int) {
	d, r := len(mu), 0
	for _, n := range lens {
		for t := range n {
			now, dst := x[(r+t)*d:][:d], y[(r+t)*d:][:d]
			for i, m := range mu {
				before := F(0)
				if t > 0 {
					before = x[(r+t-1)*d+i]
				}
				dst[i] = now[i] + (before-now[i])*m
			}
		}
		r += n
	}
}

// shiftedBack adds the gradients of [shifted] to dx and dmu, either of which may be nil.
func shiftedBack[F Float](dx, dmu, x, mu, dy []F, lens []int) {
	d, r := len(mu), 0
	for _, n := range lens {
		for t := range n {
			at := (r + t) * d
			for i, m := range mu {
				g, before := dy[at+i], F(0)
				if t > 0 {
					before = x[at-d+i]
				}
				if dx != nil {
					dx[at+i] += g * (1 - m)
					if t > 0 {
						dx[at-d+i] += g * m
					}
				}
				if dmu != nil {
					dmu[i] += g * (before - x[at+i])
				}
			}
		}
		r += n
	}
}

// An rwkvValue is the bound values of the first layer.
type rwkvValue[F Float] struct {
	m       *Model[F]
	in, reg plan.RegisterRef
	mu      operand[F]
	v       linear[F]
}

func bindRWKVValue[F Float](b *Bind[F], p *plan.RWKVParams) (recorder[F], error) {
	v := &rwkvValue[F]{m: b.m, in: b.In[0], reg: b.Out[0]}
	var err error
	if v.mu, err = b.vector("x_v", int(p.Dim)); err != nil {
		return nil, err
	}
	v.v, err = b.linear("v", "", int(p.Dim), int(p.Dim))
	return v, err
}

func (v *rwkvValue[F]) record(s *step[F]) error {
	s.begin(v.in)
	s.use(&v.mu)
	v.v.use(s)
	y := s.output(v.reg)
	if y == nil {
		return s.t.Err()
	}
	x := s.value(v.in)
	mixed := v.m.scratch.take(len(x))
	shifted(mixed, x, v.mu.value(), s.batch.Lens)
	v.v.forward(s, y, mixed, s.count(v.in))
	return s.end(keyRWKVValue, v)
}

func rwkvValueBack[F Float](b *grad.OpaqueBack[F]) {
	v := b.Aux.(*rwkvValue[F])
	s, lens := &v.m.scratch, v.m.step.batch.Lens
	s.reset()
	x := b.In(0)
	mixed := s.take(len(x))
	shifted(mixed, x, v.mu.value(), lens)
	d := sink[F]{g: s.take(len(x))}
	v.v.back(b, &d, b.DOut(0), mixed, len(x)/v.v.in)
	dx := sinkOf(b, 0)
	shiftedBack(dx.sum(), v.mu.grad(b), x, v.mu.value(), d.g, lens)
}

// An rwkvChannel is a bound channel mix: value relu(key x)².
type rwkvChannel[F Float] struct {
	m          *Model[F]
	in, reg    plan.RegisterRef
	mu         operand[F]
	key, value linear[F]
}

func bindRWKVChannelMix[F Float](b *Bind[F], p *plan.RWKVParams) (recorder[F], error) {
	c := &rwkvChannel[F]{m: b.m, in: b.In[0], reg: b.Out[0]}
	var err error
	if c.mu, err = b.vector("x_k", int(p.Dim)); err != nil {
		return nil, err
	}
	if c.key, err = b.linear("key", "", int(p.Dim), int(p.Hidden)); err != nil {
		return nil, err
	}
	c.value, err = b.linear("value", "", int(p.Hidden), int(p.Dim))
	return c, err
}

func (c *rwkvChannel[F]) record(s *step[F]) error {
	s.begin(c.in)
	s.use(&c.mu)
	c.key.use(s)
	c.value.use(s)
	rows, x := s.count(c.in), s.value(c.in)
	up := s.keep(rows * c.key.out)
	y := s.output(c.reg)
	if y == nil {
		return s.t.Err()
	}
	mixed, h := c.m.scratch.take(len(x)), c.m.scratch.take(len(up))
	shifted(mixed, x, c.mu.value(), s.batch.Lens)
	c.key.forward(s, up, mixed, rows)
	s.w.Activate(dense.ReLU2, h, up)
	c.value.forward(s, y, h, rows)
	return s.end(keyRWKVChannel, c)
}

func rwkvChannelBack[F Float](b *grad.OpaqueBack[F]) {
	c := b.Aux.(*rwkvChannel[F])
	w, s, lens := dense.Of[F](b.Work()), &c.m.scratch, c.m.step.batch.Lens
	s.reset()
	x, up := b.In(0), b.Saved(0)
	rows := len(up) / c.key.out
	h, dup, mixed := s.take(len(up)), s.zeros(len(up)), s.take(len(x))
	w.Activate(dense.ReLU2, h, up)
	dh := sink[F]{g: s.take(len(up))}
	c.value.back(b, &dh, b.DOut(0), h, rows)
	w.ActivateBack(dense.ReLU2, dup, up, dh.g)
	shifted(mixed, x, c.mu.value(), lens)
	d := sink[F]{g: s.take(len(x))}
	c.key.back(b, &d, dup, mixed, rows)
	dx := sinkOf(b, 0)
	shiftedBack(dx.sum(), c.mu.grad(b), x, c.mu.value(), d.g, lens)
}

// A thin is a product of two thin matrices with an activation between.
type thin[F Float] struct {
	down, up linear[F]
	act      dense.Activation
	acts     bool
}

func (b *Bind[F]) thin(down, up, bias string, dim int, rank uint32) (t thin[F], err error) {
	if t.down, err = b.linear(down, "", dim, int(rank)); err != nil {
		return t, err
	}
	t.up, err = b.linear(up, bias, int(rank), dim)
	return t, err
}

func (t *thin[F]) use(s *step[F]) {
	t.down.use(s)
	t.up.use(s)
}

func (t *thin[F]) forward(s *step[F], y, x []F, rows int) {
	h := t.down.m.scratch.take(rows * t.down.out)
	t.down.forward(s, h, x, rows)
	if t.acts {
		dense.Activate(t.act, h, h)
	}
	t.up.forward(s, y, h, rows)
}

// back adds the gradient of x to dx; s runs the first product again.
func (t *thin[F]) back(b *grad.OpaqueBack[F], s *step[F], dx *sink[F], dy, x []F, rows int) {
	sc := &t.down.m.scratch
	pre := sc.take(rows * t.down.out)
	t.down.forward(s, pre, x, rows)
	h, d := pre, sink[F]{g: sc.take(len(pre))}
	if t.acts {
		h = sc.take(len(pre))
		dense.Activate(t.act, h, pre)
	}
	t.up.back(b, &d, dy, h, rows)
	if t.acts {
		dpre := sc.zeros(len(pre))
		dense.ActivateBack(t.act, dpre, pre, d.g)
		d.g = dpre
	}
	t.down.back(b, dx, d.g, x, rows)
}

// wkvSpan is the number of tokens between memories that are kept.
const wkvSpan = 32

// decayRate is e^(−1/2), the strongest logarithm of a decay of RWKV-7.
const decayRate = 0.6065306597126334

// The inputs that rows are mixed for.
const (
	mixR = iota
	mixW
	mixK
	mixV
	mixA
	mixG
	mixes
)

// A timeMix is a bound RWKV-7 time mix.
type timeMix[F Float] struct {
	m                      *Model[F]
	in, first, reg         plan.RegisterRef
	dim, n                 int
	eps                    F
	own                    bool
	mu                     [mixes]operand[F]
	kk, ka, rk, norm, bias operand[F]
	r, k, v, o             linear[F]
	w, a, vr, g            thin[F]
	line                   [12][]F // of one token of one head
	states                 []F     // [wkvSpan+1, n, n]
	ds                     []F     // [n, n]
}

func bindRWKVTimeMix[F Float](b *Bind[F], p *plan.RWKVParams) (recorder[F], error) {
	m := &timeMix[F]{m: b.m, in: b.In[0], first: b.In[1], reg: b.Out[0], dim: int(p.Dim), n: int(p.HeadDim), eps: exact[F](p.NormEps), own: b.Has("v")}
	if m.n == 0 || m.dim%m.n != 0 {
		return nil, plan.Errorf(plan.ErrInvalidPlan, plan.Whole, "heads of width %d do not divide %d channels", m.n, m.dim)
	}
	for i := range m.line {
		m.line[i] = make([]F, m.n)
	}
	m.states, m.ds = make([]F, (wkvSpan+1)*m.n*m.n), make([]F, m.n*m.n)
	var err error
	for _, w := range []struct {
		to   *operand[F]
		slot string
	}{
		{&m.mu[mixR], "x_r"}, {&m.mu[mixW], "x_w"}, {&m.mu[mixK], "x_k"}, {&m.mu[mixV], "x_v"}, {&m.mu[mixA], "x_a"}, {&m.mu[mixG], "x_g"},
		{&m.kk, "k_k"}, {&m.ka, "k_a"}, {&m.rk, "r_k"}, {&m.norm, "norm"}, {&m.bias, "norm_bias"},
	} {
		if *w.to, err = b.vector(w.slot, m.dim); err != nil {
			return nil, err
		}
	}
	for _, w := range []struct {
		to   *linear[F]
		slot string
	}{{&m.r, "r"}, {&m.k, "k"}, {&m.v, "v"}, {&m.o, "o"}} {
		if *w.to, err = b.linear(w.slot, "", m.dim, m.dim); err != nil {
			return nil, err
		}
	}
	if m.w, err = b.thin("w1", "w2", "w0", m.dim, p.DecayRank); err != nil {
		return nil, err
	}
	m.w.act, m.w.acts = dense.Tanh, true
	if m.a, err = b.thin("a1", "a2", "a0", m.dim, p.RateRank); err != nil {
		return nil, err
	}
	if m.vr, err = b.thin("v1", "v2", "v0", m.dim, p.ValueRank); err != nil {
		return nil, err
	}
	if m.g, err = b.thin("g1", "g2", "", m.dim, p.GateRank); err != nil {
		return nil, err
	}
	m.g.act, m.g.acts = dense.Sigmoid, true
	return m, nil
}

// What a time mix saves, by place: its projections before activations, the values that
// heads write, what heads answer before the norm, and their memories.
const (
	savedR = iota
	savedKey
	savedW
	savedRate
	savedGates
	savedValues
	savedAnswer
	savedMemory
	savedOwn // only after the first layer, and what follows
	savedShare
)

func (m *timeMix[F]) record(s *step[F]) error {
	s.begin(m.in, m.first)
	for i := range m.mu {
		s.use(&m.mu[i])
	}
	for _, o := range []*operand[F]{&m.kk, &m.ka, &m.rk, &m.norm, &m.bias} {
		s.use(o)
	}
	for _, l := range []*linear[F]{&m.r, &m.k, &m.v, &m.o} {
		l.use(s)
	}
	for _, t := range []*thin[F]{&m.w, &m.a, &m.vr, &m.g} {
		t.use(s)
	}
	rows, x, lens := s.count(m.in), s.value(m.in), s.batch.Lens
	size := rows * m.dim
	r, k, w, a := s.keep(size), s.keep(size), s.keep(size), s.keep(size)
	g, v, answer, memory := s.keep(size), s.keep(size), s.keep(size), s.save(m.memoryLen(lens))
	var own, share []F
	if m.own {
		own, share = s.keep(size), s.keep(size)
	}
	y := s.output(m.reg)
	if y == nil {
		return s.t.Err()
	}
	sc := &m.m.scratch
	mixed := sc.take(size)
	mix := func(i int) []F { shifted(mixed, x, m.mu[i].value(), lens); return mixed }
	m.r.forward(s, r, mix(mixR), rows)
	m.k.forward(s, k, mix(mixK), rows)
	m.w.forward(s, w, mix(mixW), rows)
	m.a.forward(s, a, mix(mixA), rows)
	m.g.forward(s, g, mix(mixG), rows)
	if first := s.value(m.first); m.own {
		m.v.forward(s, own, mix(mixV), rows)
		m.vr.forward(s, share, mixed, rows)
		for i, f := range first {
			v[i] = own[i] + (f-own[i])*sigmoid(share[i])
		}
	} else {
		copy(v, first)
	}
	h := sc.take(size)
	row, at := 0, 0
	for _, n := range lens {
		for c := 0; c < m.dim; c += m.n {
			now := m.states[:m.n*m.n]
			clear(now)
			for t := range n {
				if t%wkvSpan == 0 {
					if memory != nil {
						copy(memory[at:], now)
					}
					at += len(now)
				}
				i := (row+t)*m.dim + c
				m.load(r, k, w, a, v, i, c)
				m.advance(now, now)
				m.answer(answer[i:i+m.n], now)
				m.finish(h[i:i+m.n], answer[i:i+m.n], g[i:i+m.n], c)
			}
		}
		row += n
	}
	m.o.forward(s, y, h, rows)
	return s.end(keyRWKVTime, m)
}

func (m *timeMix[F]) memoryLen(lens []int) (n int) {
	for _, rows := range lens {
		n += (rows + wkvSpan - 1) / wkvSpan * m.dim * m.n
	}
	return n
}

// Places in timeMix.line: what load computes for a token, and places for its gradients.
const (
	lineR = iota
	lineK // of the memory: k (1 + (a − 1) k_a)
	lineW
	lineA
	lineV
	lineKappa
	lineB // κ ⊙ a
	lineSA
	line1
	line2
	line3
	line4
)

// load computes what a head reads of the token at element i of all rows; c is the first
// channel of the head.
func (m *timeMix[F]) load(r, k, w, a, v []F, i, c int) {
	l, n := &m.line, m.n
	copy(l[lineR], r[i:i+n])
	copy(l[lineV], v[i:i+n])
	kk, ka := m.kk.value()[c:c+n], m.ka.value()[c:c+n]
	dense.Mul(l[lineKappa], k[i:i+n], kk)
	dense.Scale(l[lineKappa], 1/max(dense.Norm(l[lineKappa]), 1e-12))
	for j := range n {
		rate := sigmoid(a[i+j])
		l[lineA][j] = rate
		l[lineW][j] = F(math.Exp(-decayRate * float64(sigmoid(w[i+j]))))
		l[lineB][j] = l[lineKappa][j] * rate
		l[lineK][j] = k[i+j] * (1 + (rate-1)*ka[j])
	}
}

// advance writes the memory after the loaded token; rows are channels of keys. next may be
// now.
func (m *timeMix[F]) advance(next, now []F) {
	l, n := &m.line, m.n
	dense.MatVecT(l[lineSA], now, l[lineKappa])
	for j := range n {
		row := next[j*n:][:n]
		copy(row, now[j*n:][:n])
		dense.Scale(row, l[lineW][j])
		dense.Axpy(row, -l[lineB][j], l[lineSA])
		dense.Axpy(row, l[lineK][j], l[lineV])
	}
}

func (m *timeMix[F]) answer(y, memory []F) { dense.MatVecT(y, memory, m.line[lineR]) }

// bonus is how much of its own value a token adds.
func (m *timeMix[F]) bonus(c int) F {
	l := &m.line
	dense.Mul(l[line1], l[lineR], l[lineK])
	return dense.Dot(l[line1], m.rk.value()[c:c+m.n])
}

// centred writes the answer with mean 0 and variance 1, and returns the factor.
func (m *timeMix[F]) centred(dst, y []F) F {
	mean, square := 0.0, 0.0
	for _, v := range y {
		mean += float64(v)
	}
	mean /= float64(len(y))
	for _, v := range y {
		square += (float64(v) - mean) * (float64(v) - mean)
	}
	inv := F(1 / math.Sqrt(square/float64(len(y))+float64(m.eps)))
	for i, v := range y {
		dst[i] = (v - F(mean)) * inv
	}
	return inv
}

// finish writes what the output projection reads: (norm(y) + bonus v) ⊙ g.
func (m *timeMix[F]) finish(h, y, g []F, c int) {
	l := &m.line
	b := m.bonus(c)
	m.centred(l[line2], y)
	norm, bias := m.norm.value()[c:], m.bias.value()[c:]
	for j := range h {
		h[j] = (l[line2][j]*norm[j] + bias[j] + b*l[lineV][j]) * g[j]
	}
}

// timeGrads are gradients of the saved projections.
type timeGrads[F Float] struct{ r, k, w, a, g, v []F }

func timeMixBack[F Float](b *grad.OpaqueBack[F]) {
	m := b.Aux.(*timeMix[F])
	s, sc, lens := &m.m.step, &m.m.scratch, m.m.step.batch.Lens
	sc.reset()
	x, size := b.In(0), len(b.Saved(savedR))
	rows := size / m.dim
	// what the output projection read, computed again
	h, answer, g := sc.take(size), b.Saved(savedAnswer), b.Saved(savedGates)
	for c := 0; c < size; c += m.n {
		m.load(b.Saved(savedR), b.Saved(savedKey), b.Saved(savedW), b.Saved(savedRate), b.Saved(savedValues), c, c%m.dim)
		m.finish(h[c:c+m.n], answer[c:c+m.n], g[c:c+m.n], c%m.dim)
	}
	dh := sink[F]{g: sc.take(size)}
	m.o.back(b, &dh, b.DOut(0), h, rows)
	d := timeGrads[F]{sc.zeros(size), sc.zeros(size), sc.zeros(size), sc.zeros(size), sc.zeros(size), sc.zeros(size)}
	row, at := 0, 0
	for _, n := range lens {
		spans := (n + wkvSpan - 1) / wkvSpan
		for c := 0; c < m.dim; c += m.n {
			clear(m.ds)
			for k := spans - 1; k >= 0; k-- {
				lo := k * wkvSpan
				m.spanBack(b, &d, dh.g, b.Saved(savedMemory)[at+k*m.n*m.n:][:m.n*m.n], (row+lo)*m.dim+c, c, min(wkvSpan, n-lo))
			}
			at += spans * m.n * m.n
		}
		row += n
	}
	dx, mixed := sinkOf(b, 0), sc.take(size)
	dmixed := sink[F]{g: sc.take(size)}
	from := func(i int, back func()) {
		shifted(mixed, x, m.mu[i].value(), lens)
		dmixed.add = false
		back()
		shiftedBack(dx.sum(), m.mu[i].grad(b), x, m.mu[i].value(), dmixed.g, lens)
	}
	from(mixR, func() { m.r.back(b, &dmixed, d.r, mixed, rows) })
	from(mixK, func() { m.k.back(b, &dmixed, d.k, mixed, rows) })
	from(mixW, func() { m.w.back(b, s, &dmixed, d.w, mixed, rows) })
	from(mixA, func() { m.a.back(b, s, &dmixed, d.a, mixed, rows) })
	from(mixG, func() { m.g.back(b, s, &dmixed, d.g, mixed, rows) })
	dfirst := sinkOf(b, 1)
	if !m.own {
		dfirst.plus(dense.Of[F](b.Work()), 1, d.v)
		return
	}
	own, share, first := b.Saved(savedOwn), b.Saved(savedShare), b.In(1)
	dshare, into := sc.take(size), dfirst.sum()
	for i, dv := range d.v {
		g := sigmoid(share[i])
		dshare[i] = dv * (first[i] - own[i]) * g * (1 - g)
		if into != nil {
			into[i] += dv * g
		}
		d.v[i] = dv * (1 - g)
	}
	from(mixV, func() {
		m.v.back(b, &dmixed, d.v, mixed, rows)
		m.vr.back(b, s, &dmixed, dshare, mixed, rows)
	})
}

// spanBack goes back over n tokens of a head whose memory before them is first; at is the
// element of the first, c the first channel of the head.
func (m *timeMix[F]) spanBack(b *grad.OpaqueBack[F], d *timeGrads[F], dh, first []F, at, c, n int) {
	r, k, w, a, v := b.Saved(savedR), b.Saved(savedKey), b.Saved(savedW), b.Saved(savedRate), b.Saved(savedValues)
	size := m.n * m.n
	memory := func(t int) []F { return m.states[t*size:][:size] }
	copy(memory(0), first)
	for t := range n {
		m.load(r, k, w, a, v, at+t*m.dim, c)
		m.advance(memory(t+1), memory(t))
	}
	for t := n - 1; t >= 0; t-- {
		i := at + t*m.dim
		m.load(r, k, w, a, v, i, c)
		m.finishBack(b, d, dh, i, c)
		m.tokenBack(b, d, memory(t), memory(t+1), i, c)
	}
}

// finishBack adds the gradients of (norm(y) + bonus v) ⊙ g, and leaves that of y in line4.
// Gradients of the memory's k are left in line3.
func (m *timeMix[F]) finishBack(b *grad.OpaqueBack[F], d *timeGrads[F], dh []F, i, c int) {
	l, n := &m.line, m.n
	y, g := b.Saved(savedAnswer)[i:i+n], b.Saved(savedGates)[i:i+n]
	bonus := m.bonus(c)
	inv := m.centred(l[line2], y)
	norm, bias, rk := m.norm.value()[c:c+n], m.bias.value()[c:c+n], m.rk.value()[c:c+n]
	dnorm, dbias, drk := m.norm.grad(b), m.bias.grad(b), m.rk.grad(b)
	dbonus, mean, along := F(0), F(0), F(0)
	for j := range n {
		x := l[line2][j]
		d.g[i+j] += dh[i+j] * (x*norm[j] + bias[j] + bonus*l[lineV][j])
		do := dh[i+j] * g[j]
		if dnorm != nil {
			dnorm[c+j] += do * x
		}
		if dbias != nil {
			dbias[c+j] += do
		}
		d.v[i+j] += bonus * do
		dbonus += do * l[lineV][j]
		l[line4][j] = do * norm[j]
		mean += l[line4][j]
		along += l[line4][j] * x
	}
	mean, along = mean/F(n), along/F(n)
	for j := range n {
		l[line4][j] = inv * (l[line4][j] - mean - l[line2][j]*along)
		d.r[i+j] += dbonus * l[lineK][j] * rk[j]
		l[line3][j] = dbonus * l[lineR][j] * rk[j]
		if drk != nil {
			drk[c+j] += dbonus * l[lineR][j] * l[lineK][j]
		}
	}
}

// tokenBack adds the gradients of a token, from that of its answer in line4 and of the
// memory after it in ds, which becomes that of the memory before.
func (m *timeMix[F]) tokenBack(b *grad.OpaqueBack[F], d *timeGrads[F], before, after []F, i, c int) {
	l, n := &m.line, m.n
	dy, dk := l[line4], l[line3]
	dense.AddMatVec(d.r[i:i+n], after, dy)
	dense.AddOuter(m.ds, 1, l[lineR], dy)
	dense.AddMatVec(dk, m.ds, l[lineV])
	dense.AddMatVecT(d.v[i:i+n], m.ds, l[lineK])
	dense.MatVecT(l[lineSA], before, l[lineKappa])
	db, dsa := l[line1], l[line2]
	dense.MatVec(db, m.ds, l[lineSA])
	dense.Scale(db, -1)
	dense.MatVecT(dsa, m.ds, l[lineB])
	dense.Scale(dsa, -1)
	dkappa := l[line4] // the answer's is used up
	dense.MatVec(dkappa, before, dsa)
	wraw := b.Saved(savedW)
	for j := range n {
		row := m.ds[j*n:][:n]
		g := sigmoid(wraw[i+j])
		d.w[i+j] += dense.Dot(row, before[j*n:][:n]) * l[lineW][j] * -decayRate * g * (1 - g)
		dense.Scale(row, l[lineW][j])
	}
	dense.AddOuter(m.ds, 1, l[lineKappa], dsa)
	// κ = k k_k of length one, b = κ a, k' = k (1 + (a − 1) k_a)
	k, kk, ka := b.Saved(savedKey)[i:i+n], m.kk.value()[c:c+n], m.ka.value()[c:c+n]
	dkk, dka := m.kk.grad(b), m.ka.grad(b)
	for j := range n {
		dkappa[j] += db[j] * l[lineA][j]
	}
	along := dense.Dot(dkappa, l[lineKappa])
	dense.Mul(l[lineSA], k, kk)
	inv := 1 / max(dense.Norm(l[lineSA]), 1e-12)
	for j := range n {
		rate := l[lineA][j]
		du := (dkappa[j] - l[lineKappa][j]*along) * inv
		da := db[j]*l[lineKappa][j] + dk[j]*k[j]*ka[j]
		d.k[i+j] += du*kk[j] + dk[j]*(1+(rate-1)*ka[j])
		d.a[i+j] += da * rate * (1 - rate)
		if dkk != nil {
			dkk[c+j] += du * k[j]
		}
		if dka != nil {
			dka[c+j] += dk[j] * k[j] * (rate - 1)
		}
	}
}
