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
	if m.w, err = b.thin("d1", "d2", "d0", m.dim, p.DecayRank); err != nil {
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
