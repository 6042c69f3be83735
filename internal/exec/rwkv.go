package exec

import (
	"math"

	"atenia/internal/kernel"
	"atenia/internal/kernel/chunk"
	"atenia/internal/kernel/dense"
	"atenia/internal/plan"
)

// A shift mixes each row with the one before it in its sequence,
//
//	x_t + (x_(t−1) − x_t) ⊙ μ
//
// The state is the last row.
type shift struct {
	last stateRows
	dim  int
}

func (b *Bind) shift(p *plan.RWKVParams, section string) (sh shift, err error) {
	sh.dim = int(p.Dim)
	sh.last, err = b.stateRows(p.Layer, section, sh.dim)
	return sh, err
}

// row writes the mixture of row r of x.
func (h *shift) row(s *Step, dst, x, mu []float32, r int) {
	run := &s.Runs[s.rowRun[r]]
	now := x[r*h.dim:][:h.dim]
	before := h.last.of(run)
	if r > run.First {
		before = x[(r-1)*h.dim:][:h.dim]
	}
	kernel.Add(dst, before, now, -1)
	kernel.Mul(dst, dst, mu)
	kernel.Add(dst, dst, now, 1)
}

// keep makes the last row of every run that of its state.
func (h *shift) keep(s *Step, x []float32) {
	for i := range s.Runs {
		run := &s.Runs[i]
		copy(h.last.of(run), x[(run.First+run.Len-1)*h.dim:])
	}
}

// bindRWKVValue binds the values of the first layer, which all others mix theirs with.
func bindRWKVValue(b *Bind, p *plan.RWKVParams) (Kernel, error) {
	dim, in, out := int(p.Dim), b.In[0], b.Out[0]
	sh, err := b.shift(p, "shift")
	if err != nil {
		return nil, err
	}
	mu, err := b.vector("x_v", dim)
	if err != nil {
		return nil, err
	}
	l := b.linear(dim)
	if err := b.add(l, "v", "", dim); err != nil {
		return nil, err
	}
	l.parts[0].stride = dim
	mixed := b.floats(dim * b.maxRows)
	mix := overRows(in, 3*dim, func(s *Step, _, lo, hi int) {
		for r := lo; r < hi; r++ {
			sh.row(s, s.x.floatsOf(mixed)[r*dim:][:dim], in.f32(s), mu, r)
		}
	})
	return func(s *Step) error {
		if err := mix(s); err != nil {
			return err
		}
		l.parts[0].dst = out.f32(s)
		return l.run(s, s.x.floatsOf(mixed), in.count(s))
	}, nil
}

// bindRWKVChannelMix binds value relu(key x)² of rows mixed with those before them.
func bindRWKVChannelMix(b *Bind, p *plan.RWKVParams) (Kernel, error) {
	dim, hidden, in, out := int(p.Dim), int(p.Hidden), b.In[0], b.Out[0]
	sh, err := b.shift(p, "channel")
	if err != nil {
		return nil, err
	}
	mu, err := b.vector("x_k", dim)
	if err != nil {
		return nil, err
	}
	key, value := b.linear(dim), b.linear(hidden)
	if err := b.add(key, "key", "", hidden); err != nil {
		return nil, err
	}
	if err := b.add(value, "value", "", dim); err != nil {
		return nil, err
	}
	key.parts[0].stride, value.parts[0].stride = hidden, dim
	mixed, up := b.floats(dim*b.maxRows), b.floats(hidden*b.maxRows)
	mix := overRows(in, 3*dim, func(s *Step, _, lo, hi int) {
		for r := lo; r < hi; r++ {
			sh.row(s, s.x.floatsOf(mixed)[r*dim:][:dim], in.f32(s), mu, r)
		}
	})
	act := overRows(in, hidden, func(s *Step, _, lo, hi int) {
		x := s.x.floatsOf(up)[lo*hidden : hi*hidden]
		kernel.ReLU2(x, x)
	})
	return func(s *Step) error {
		if err := mix(s); err != nil {
			return err
		}
		key.parts[0].dst, value.parts[0].dst = s.x.floatsOf(up), out.f32(s)
		if err := key.run(s, s.x.floatsOf(mixed), in.count(s)); err != nil {
			return err
		}
		if err := act(s); err != nil {
			return err
		}
		sh.keep(s, in.f32(s))
		return value.run(s, s.x.floatsOf(up), in.count(s))
	}, nil
}

// The inputs of a time mix that rows are mixed for, in the order of its slots.
const (
	mixR = iota
	mixW
	mixK
	mixV
	mixA
	mixG
	mixes
)

// A timeMix is a bound RWKV-7 time mix (arXiv 2503.14456): for each head, with decays w,
// removal keys κ and rates a of its channels,
//
//	S ← S (diag w − κ (a ⊙ κ)ᵀ) + v kᵀ ;  y = S r
//
// The state has Sᵀ and the tokens of the span so far, as chunk.General wants them:
//
//	mixtures of rows      products of r, w, k, v, a, g
//	each row              w = ln of decays, κ of length one, a ⊙ κ, k
//	each run and head     chunk.General, norm, bonus, gate
type timeMix struct {
	p                      *plan.RWKVParams
	x                      *Executor
	shift                  shift
	wkv                    stateRows
	dim, heads, n          int
	mu                     [mixes][]float32
	kk, ka, rk, norm, bias []float32
	r, k, v, o             *linear
	w, a, vr, g            lowRank
	mixed                  [mixes]scratch
	rs, ks, vs, ws, as, gs scratch
	kappa, b, ys           scratch
	own                    bool // computes values, where others mix with those of the first layer
	first                  *register
	workers                []*chunk.General[float32]
	heed                   rowTask
}

// A lowRank is a product of two thin matrices, with an activation between and a bias.
type lowRank struct {
	down, up *linear
	rank     int
	hidden   scratch
	act      func(dst, src []float32)
}

func (b *Bind) lowRank(down, up, bias string, dim int, rank uint32, act func(dst, src []float32)) (l lowRank, err error) {
	l = lowRank{down: b.linear(dim), up: b.linear(int(rank)), rank: int(rank), act: act}
	if err := b.add(l.down, down, "", l.rank); err != nil {
		return l, err
	}
	if err := b.add(l.up, up, bias, dim); err != nil {
		return l, err
	}
	l.down.parts[0].stride, l.up.parts[0].stride = l.rank, dim
	l.hidden = b.floats(l.rank * b.maxRows)
	return l, nil
}

func (l *lowRank) run(s *Step, dst, src []float32, rows int) error {
	h := s.x.floatsOf(l.hidden)[:rows*l.rank]
	l.down.parts[0].dst, l.up.parts[0].dst = h, dst
	if err := l.down.run(s, src, rows); err != nil {
		return err
	}
	if l.act != nil {
		l.act(h, h)
	}
	return l.up.run(s, h, rows)
}

func bindRWKVTimeMix(b *Bind, p *plan.RWKVParams) (Kernel, error) {
	m := &timeMix{p: p, x: b.x, dim: int(p.Dim), heads: int(p.Heads), n: int(p.HeadDim), first: b.In[1]}
	if m.heads*m.n != m.dim {
		return nil, plan.Errorf(plan.ErrInvalidPlan, plan.Whole, "%d heads of width %d are not %d channels", m.heads, m.n, m.dim)
	}
	var err error
	if m.shift, err = b.shift(p, "shift"); err != nil {
		return nil, err
	}
	if m.wkv, err = b.stateRows(p.Layer, "wkv", m.heads*chunk.GeneralLen(m.n, m.n)); err != nil {
		return nil, err
	}
	if err := m.bindWeights(b); err != nil {
		return nil, err
	}
	for _, buf := range []*scratch{&m.rs, &m.ks, &m.vs, &m.ws, &m.as, &m.gs, &m.ys} {
		*buf = b.floats(m.dim * b.maxRows)
	}
	for i := range m.mixed {
		m.mixed[i] = b.floats(m.dim * b.maxRows)
	}
	m.kappa, m.b = m.mixed[mixR], m.mixed[mixW] // which the products have read by then
	if !b.x.measuring {
		m.workers = b.x.generalWorkers(m.n)
	}
	in, out := b.In[0], b.Out[0]
	mix := overRows(in, 3*mixes*m.dim, func(s *Step, _, lo, hi int) {
		for i, mu := range m.mu {
			for r := lo; mu != nil && r < hi; r++ {
				m.shift.row(s, m.x.floatsOf(m.mixed[i])[r*m.dim:][:m.dim], in.f32(s), mu, r)
			}
		}
	})
	prepare := overRows(in, 16*m.dim, m.prepareRows)
	m.heed.run = m.runHeads
	return func(s *Step) error {
		if err := mix(s); err != nil {
			return err
		}
		m.shift.keep(s, in.f32(s))
		if err := m.project(s, in.count(s)); err != nil {
			return err
		}
		if err := prepare(s); err != nil {
			return err
		}
		m.heed.s = s
		s.parallel(len(s.Runs)*m.heads, 1, &m.heed)
		m.o.parts[0].dst = out.f32(s)
		return m.o.run(s, m.x.floatsOf(m.ys), in.count(s))
	}, nil
}

func (m *timeMix) bindWeights(b *Bind) error {
	m.own = b.Has("v")
	var err error
	for _, w := range []struct {
		to   *[]float32
		slot string
	}{
		{&m.mu[mixR], "x_r"}, {&m.mu[mixW], "x_w"}, {&m.mu[mixK], "x_k"}, {&m.mu[mixV], "x_v"}, {&m.mu[mixA], "x_a"}, {&m.mu[mixG], "x_g"},
		{&m.kk, "k_k"}, {&m.ka, "k_a"}, {&m.rk, "r_k"}, {&m.norm, "norm"}, {&m.bias, "norm_bias"},
	} {
		if *w.to, err = b.vector(w.slot, m.dim); err != nil {
			return err
		}
	}
	if m.r, err = b.one("r", "", m.dim, m.dim); err != nil {
		return err
	}
	if m.k, err = b.one("k", "", m.dim, m.dim); err != nil {
		return err
	}
	if m.w, err = b.lowRank("d1", "d2", "d0", m.dim, m.p.DecayRank, kernel.Tanh); err != nil {
		return err
	}
	if m.a, err = b.lowRank("a1", "a2", "a0", m.dim, m.p.RateRank, nil); err != nil {
		return err
	}
	if m.own {
		if m.v, err = b.one("v", "", m.dim, m.dim); err != nil {
			return err
		}
		if m.vr, err = b.lowRank("v1", "v2", "v0", m.dim, m.p.ValueRank, nil); err != nil {
			return err
		}
	}
	if m.g, err = b.lowRank("g1", "g2", "", m.dim, m.p.GateRank, kernel.Sigmoid); err != nil {
		return err
	}
	m.o, err = b.one("o", "", m.dim, m.dim)
	return err
}

// project computes r, k, v and the gates of all rows.
func (m *timeMix) project(s *Step, rows int) error {
	at := func(b scratch) []float32 { return m.x.floatsOf(b) }
	for _, l := range [...]struct {
		l        *linear
		dst, src scratch
	}{{m.r, m.rs, m.mixed[mixR]}, {m.k, m.ks, m.mixed[mixK]}} {
		l.l.parts[0].dst = at(l.dst)
		if err := l.l.run(s, at(l.src), rows); err != nil {
			return err
		}
	}
	if err := m.w.run(s, at(m.ws), at(m.mixed[mixW]), rows); err != nil {
		return err
	}
	if err := m.a.run(s, at(m.as), at(m.mixed[mixA]), rows); err != nil {
		return err
	}
	if m.own {
		m.v.parts[0].dst = at(m.vs)
		if err := m.v.run(s, at(m.mixed[mixV]), rows); err != nil {
			return err
		}
		if err := m.vr.run(s, at(m.ys), at(m.mixed[mixV]), rows); err != nil {
			return err
		}
	}
	return m.g.run(s, at(m.gs), at(m.mixed[mixG]), rows)
}

// decayRate is e^(−1/2), the strongest logarithm of a decay.
const decayRate = 0.6065306597126334

// prepareRows computes values, decays, rates, and what is removed and written, of rows lo
// to hi.
func (m *timeMix) prepareRows(s *Step, _, lo, hi int) {
	get := func(b scratch, r int) []float32 { return m.x.floatsOf(b)[r*m.dim:][:m.dim] }
	for r := lo; r < hi; r++ {
		k, v, w, a, kappa, b := get(m.ks, r), get(m.vs, r), get(m.ws, r), get(m.as, r), get(m.kappa, r), get(m.b, r)
		first := m.first.f32(s)[r*m.dim:][:m.dim]
		if m.own { // v + (first − v) σ
			part := get(m.ys, r)
			kernel.Sigmoid(part, part)
			kernel.Add(b, first, v, -1)
			kernel.Mul(b, b, part)
			kernel.Add(v, v, b, 1)
		} else {
			copy(v, first)
		}
		kernel.Sigmoid(w, w)
		kernel.Scale(w, -decayRate)
		kernel.Sigmoid(a, a)
		kernel.Mul(kappa, k, m.kk)
		for h := 0; h < m.dim; h += m.n {
			head := kappa[h:][:m.n]
			kernel.Scale(head, float32(1/max(math.Sqrt(kernel.SumSquares(head)), 1e-12)))
		}
		kernel.Mul(b, kappa, a)
		for j, rate := range a {
			k[j] *= 1 + float32((rate-1)*m.ka[j])
		}
	}
}

// generalWorkers returns memory of every worker for heads of width n, which the layers of
// a model share.
func (x *Executor) generalWorkers(n int) []*chunk.General[float32] {
	if len(x.generals) > 0 && x.generals[0].K == n {
		return x.generals
	}
	x.generals = make([]*chunk.General[float32], x.cfg.Threads)
	for i := range x.generals {
		x.generals[i] = chunk.NewGeneral[float32](n, n)
	}
	return x.generals
}

// runHeads computes items lo to hi, one run and one head each.
func (m *timeMix) runHeads(s *Step, worker, lo, hi int) {
	for i := lo; i < hi; i++ {
		run, head := &s.Runs[i/m.heads], i%m.heads
		for r := 0; r < run.Len; {
			t := (run.Pos + r) % chunk.GeneralSpan
			n := min(run.Len-r, chunk.GeneralSpan-t)
			m.span(run, m.workers[worker], head, run.First+r, t, n)
			r += n
		}
	}
}

// span computes n rows from row on, which follow t of their span, for one head.
func (m *timeMix) span(run *Run, w *chunk.General[float32], head, row, t, n int) {
	at, c, size := row*m.dim+head*m.n, head*m.n, chunk.GeneralLen(m.n, m.n)
	get := func(b scratch) []float32 { return m.x.floatsOf(b)[at:] }
	x := chunk.GeneralTokens[float32]{Stride: m.dim, W: get(m.ws), Kappa: get(m.kappa), B: get(m.b), Key: get(m.ks), Q: get(m.rs), V: get(m.vs), Y: get(m.ys)}
	w.Run(chunk.CutGeneral(m.wkv.of(run)[head*size:][:size], m.n, m.n), &x, t, n)
	gate := get(m.gs)
	for i := 0; i < n*m.dim; i += m.dim {
		r, y := x.Q[i:][:m.n], x.Y[i:][:m.n]
		kernel.LayerNorm(y, y, m.norm[c:c+m.n], m.bias[c:c+m.n], m.p.NormEps)
		kernel.Mul(r, r, x.Key[i:][:m.n])
		kernel.Add(y, y, x.V[i:][:m.n], dense.Dot(r, m.rk[c:c+m.n]))
		kernel.Mul(y, y, gate[i:][:m.n])
	}
}
