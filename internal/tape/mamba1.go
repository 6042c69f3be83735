package tape

import (
	"math"

	"atenia/grad"
	"atenia/internal/kernel/chunk"
	"atenia/internal/kernel/dense"
	"atenia/internal/plan"
)

// A mamba1 is a bound selective scan, row after row from the beginning of each
// document. The backward pass computes the states of a document again, some rows at a
// time, from those it has saved.
type mamba1[F Float] struct {
	m                  *Model[F]
	in, reg            plan.RegisterRef
	proj, sel, dt, out linear[F]
	conv               conv[F]
	a, d               operand[F] // [inner, state], [inner]
	inner, state, rank int
	plain              bool // norms of δ, B and C
	eps                F
	diagonal           chunk.Diagonal[F]
	back               rowBack[F]
}

// mamba1Rows is the number of rows between two saved states.
const mamba1Rows = 16

// What a mamba1 saves besides the projection, by place.
const (
	savedBefore = 1 + iota // [rows, inner] before the activation
	savedSel               // [rows, δ | B | C] before their norms
	savedSteps             // [rows, inner] before softplus
	savedOut               // [rows, inner] outputs of the scan
	savedEvery             // [pieces, state, inner] states before pieces of rows
)

// bindMamba1 binds a selective scan with a diagonal state (Mamba 1).
func bindMamba1[F Float](b *Bind[F], p *plan.SSMParams) (recorder[F], error) {
	m := &mamba1[F]{
		m: b.m, in: b.In[0], reg: b.Out[0], inner: int(p.Inner), state: int(p.State), rank: int(p.DtRank),
		plain: p.PlainNorm != 0, eps: exact[F](p.NormEps),
	}
	for _, l := range []struct {
		to         *linear[F]
		slot, bias string
		in, out    int
	}{{&m.proj, "in", "in_bias", b.cols(m.in), 2 * m.inner}, {&m.sel, "x", "", m.inner, m.columns()}, {&m.dt, "dt", "dt_bias", m.rank, m.inner}, {&m.out, "out", "out_bias", m.inner, b.cols(m.reg)}} {
		var err error
		if *l.to, err = b.linear(l.slot, l.bias, l.in, l.out); err != nil {
			return nil, err
		}
	}
	var err error
	if m.a, err = b.vector("a", m.inner*m.state); err != nil {
		return nil, err
	}
	if m.d, err = b.vector("d", m.inner); err != nil {
		return nil, err
	}
	m.conv, err = b.conv("conv", "conv_bias", m.inner, int(p.Conv))
	return m, err
}

func (m *mamba1[F]) columns() int { return m.rank + 2*m.state }

func (m *mamba1[F]) pieces(lens []int) (n int) {
	for _, l := range lens {
		n += (l + mamba1Rows - 1) / mamba1Rows
	}
	return n
}

func (m *mamba1[F]) need(rows int) need {
	states := (rows + mamba1Rows) * m.inner * m.state // a document may have one row
	n := need{out: rows * m.out.out, saved: rows*(5*m.inner+m.columns()) + states}
	n.scratch = rows*(14*m.inner+4*m.columns()) + (mamba1Rows+6)*m.inner*m.state + 4*m.inner*m.conv.taps + lows(rows, &m.proj, &m.sel, &m.dt, &m.out)
	return n
}

func (m *mamba1[F]) record(s *step[F]) error {
	s.begin(m.in)
	for _, l := range []*linear[F]{&m.proj, &m.sel, &m.dt, &m.out} {
		l.use(s)
	}
	m.conv.use(s)
	s.use(&m.a)
	s.use(&m.d)
	rows, lens, t := s.count(m.in), s.batch.Lens, &m.m.scratch
	proj, before := s.keep(rows*2*m.inner), s.keep(rows*m.inner)
	sel, steps, y := s.keep(rows*m.columns()), s.keep(rows*m.inner), s.keep(rows*m.inner)
	states := s.keep(m.pieces(lens) * m.state * m.inner)
	out := s.output(m.reg)
	if out == nil {
		return s.t.Err()
	}
	m.proj.forward(s, proj, s.value(m.in), rows)
	k := m.conv.open(t)
	m.conv.forward(&k, t, before, columns(t.take(rows*m.inner), proj, rows, 2*m.inner, 0, m.inner), lens)
	u := t.take(rows * m.inner)
	s.w.Activate(dense.SiLU, u, before)
	m.sel.forward(s, sel, u, rows)
	parts := m.normed(t, sel, rows)
	m.dt.forward(s, steps, columns(t.take(rows*m.rank), parts, rows, m.columns(), 0, m.rank), rows)
	m.scan(t, lens, u, parts, steps, y, states)
	m.out.forward(s, out, m.gated(s.w, t, u, proj, y, rows), rows)
	return s.end(keyMamba1, m)
}

// normed returns δ, B and C as they are used.
func (m *mamba1[F]) normed(s *scratch[F], sel []F, rows int) []F {
	if !m.plain {
		return sel
	}
	out := s.take(len(sel))
	m.eachPart(rows, func(lo, hi int) {
		inv := m.inverse(sel[lo:hi])
		for i := lo; i < hi; i++ {
			out[i] = sel[i] * inv
		}
	})
	return out
}

func (m *mamba1[F]) inverse(x []F) F {
	return F(1 / math.Sqrt(dense.SumSquares(x)/float64(len(x))+float64(m.eps)))
}

// eachPart calls f with δ, B and C of each row.
func (m *mamba1[F]) eachPart(rows int, f func(lo, hi int)) {
	for r := range rows {
		at := r * m.columns()
		f(at, at+m.rank)
		f(at+m.rank, at+m.rank+m.state)
		f(at+m.rank+m.state, at+m.columns())
	}
}

// turned returns a by values of state, [state, inner].
func (m *mamba1[F]) turned(s *scratch[F]) []F {
	out := s.take(m.inner * m.state)
	for i, v := range m.a.value() {
		out[i%m.state*m.inner+i/m.state] = v
	}
	return out
}

// scan writes the outputs of all documents, and the states before pieces of rows.
func (m *mamba1[F]) scan(s *scratch[F], lens []int, u, parts, steps, y, states []F) {
	d := &m.diagonal
	*d = chunk.Diagonal[F]{N: m.state, A: dense.Part[F]{V: m.turned(s), Stride: m.inner}}
	state, work, delta := s.take(m.inner*m.state), s.take(2*m.inner), s.take(m.inner)
	row := 0
	for _, n := range lens {
		clear(state)
		for t := range n {
			if t%mamba1Rows == 0 {
				states = states[copy(states, state):]
			}
			m.step(d, state, work, delta, row+t, u, parts, steps, y[(row+t)*m.inner:][:m.inner])
		}
		row += n
	}
}

// step advances the state by a row.
func (m *mamba1[F]) step(d *chunk.Diagonal[F], state, work, delta []F, r int, u, parts, steps, y []F) {
	copy(delta, steps[r*m.inner:])
	chunk.Softplus(delta)
	sel := parts[r*m.columns()+m.rank:][:2*m.state]
	d.Step(dense.Part[F]{V: state, Stride: m.inner}, y, delta, u[r*m.inner:][:m.inner], sel[:m.state], sel[m.state:], work)
}

// skip writes y + d·u.
func (m *mamba1[F]) skip(dst, y, u []F, rows int) []F {
	copy(dst, y)
	for r := range rows {
		dense.AddMul(dst[r*m.inner:(r+1)*m.inner], m.d.value(), u[r*m.inner:(r+1)*m.inner])
	}
	return dst
}

// gated returns (y + d·u) ⊙ silu(z).
func (m *mamba1[F]) gated(w *dense.Work[F], s *scratch[F], u, proj, y []F, rows int) []F {
	out := m.skip(s.take(len(y)), y, u, rows)
	w.ActivateMul(dense.SiLU, out, columns(s.take(len(y)), proj, rows, 2*m.inner, m.inner, m.inner), out)
	return out
}

func mamba1Back[F Float](b *grad.OpaqueBack[F]) {
	m := b.Aux.(*mamba1[F])
	w, s, lens := dense.Of[F](b.Work()), &m.m.scratch, m.m.step.batch.Lens
	s.reset()
	proj, before, sel := b.Saved(savedProj), b.Saved(savedBefore), b.Saved(savedSel)
	steps, y, states := b.Saved(savedSteps), b.Saved(savedOut), b.Saved(savedEvery)
	rows := len(y) / m.inner
	u := s.take(len(y))
	w.Activate(dense.SiLU, u, before)
	parts := m.normed(s, sel, rows)
	dgated := sink[F]{g: s.take(len(y))}
	m.out.back(b, &dgated, b.DOut(0), m.gated(w, s, u, proj, y, rows), rows)
	q, z := m.skip(s.take(len(y)), y, u, rows), columns(s.take(len(y)), proj, rows, 2*m.inner, m.inner, m.inner)
	dy, dz := s.zeros(len(y)), s.zeros(len(y))
	w.ActivateMulBack(dense.SiLU, dz, dy, z, q, dgated.g)
	dproj, du := s.zeros(len(proj)), s.zeros(len(y))
	addColumns(dproj, dz, rows, 2*m.inner, m.inner, m.inner)
	dd := m.d.grad(b)
	for r := range rows {
		g, at := dy[r*m.inner:(r+1)*m.inner], r*m.inner
		dense.AddMul(du[at:at+m.inner], m.d.value(), g)
		if dd != nil {
			dense.AddMul(dd, g, u[at:at+m.inner])
		}
	}
	dparts, dsteps := s.zeros(len(sel)), s.zeros(len(y))
	m.scanBack(b, s, lens, u, parts, steps, states, dy, du, dparts, dsteps)
	ddelta := sink[F]{g: s.take(rows * m.rank)}
	m.dt.back(b, &ddelta, dsteps, columns(s.take(rows*m.rank), parts, rows, m.columns(), 0, m.rank), rows)
	addColumns(dparts, ddelta.g, rows, m.columns(), 0, m.rank)
	if m.plain {
		m.normBack(dparts, sel, rows)
	}
	to := sink[F]{g: du, add: true}
	m.sel.back(b, &to, dparts, u, rows)
	dbefore, dx := s.zeros(len(before)), s.zeros(len(before))
	w.ActivateBack(dense.SiLU, dbefore, before, du)
	k := m.conv.open(s)
	m.conv.back(b, &k, s, dx, columns(s.take(len(y)), proj, rows, 2*m.inner, 0, m.inner), dbefore, lens)
	addColumns(dproj, dx, rows, 2*m.inner, 0, m.inner)
	in := sinkOf(b, 0)
	m.proj.back(b, &in, dproj, b.In(0), rows)
}

// normBack replaces the gradient of normalized δ, B and C by that of these.
func (m *mamba1[F]) normBack(d, x []F, rows int) {
	m.eachPart(rows, func(lo, hi int) {
		inv := m.inverse(x[lo:hi])
		mean := dense.Dot(d[lo:hi], x[lo:hi]) * inv * inv / F(hi-lo)
		dense.Axpy(d[lo:hi], -mean, x[lo:hi])
		dense.Scale(d[lo:hi], inv)
	})
}

// scanBack adds the gradients of the recurrence: of u, of B and C, of steps before
// softplus, and of a.
func (m *mamba1[F]) scanBack(b *grad.OpaqueBack[F], s *scratch[F], lens []int, u, parts, steps, states, dy, du, dparts, dsteps []F) {
	size := m.inner * m.state
	a := m.turned(s)
	d := &m.diagonal
	*d = chunk.Diagonal[F]{N: m.state, A: dense.Part[F]{V: a, Stride: m.inner}}
	history, y, work := s.take((mamba1Rows+1)*size), s.take(m.inner), s.take(2*m.inner)
	k := &m.back
	*k = rowBack[F]{m: m, a: a, delta: s.take(m.inner), decay: s.take(m.inner), line: s.take(m.inner), dstate: s.take(size), da: s.zeros(size)}
	row, piece := len(u)/m.inner, m.pieces(lens)
	for i := len(lens) - 1; i >= 0; i-- {
		n := lens[i]
		row -= n
		clear(k.dstate)
		for lo := (n - 1) / mamba1Rows * mamba1Rows; lo >= 0; lo -= mamba1Rows {
			piece--
			copy(history, states[piece*size:][:size])
			hi := min(lo+mamba1Rows, n)
			for t := lo; t < hi; t++ {
				next := history[(t-lo+1)*size:][:size]
				copy(next, history[(t-lo)*size:][:size])
				m.step(d, next, work, k.delta, row+t, u, parts, steps, y)
			}
			for t := hi - 1; t >= lo; t-- {
				k.row(row+t, history[(t-lo)*size:][:size], history[(t-lo+1)*size:][:size], u, parts, steps, dy, du, dparts, dsteps)
			}
		}
	}
	if g := m.a.grad(b); g != nil {
		for i := range g {
			g[i] += k.da[i%m.state*m.inner+i/m.state]
		}
	}
}

// A rowBack is the memory of the adjoint of one row.
type rowBack[F Float] struct {
	m                  *mamba1[F]
	a                  []F // [state, inner]
	delta, decay, line []F // [inner]
	dstate, da         []F // [state, inner]
}

// row is the adjoint of a row, between the states before and after it.
func (k *rowBack[F]) row(r int, before, after, u, parts, steps, dy, du, dparts, dsteps []F) {
	m := k.m
	n, at := m.inner, r*m.inner
	copy(k.delta, steps[at:])
	chunk.Softplus(k.delta)
	g, in := dy[at:at+n], u[at:at+n]
	sel, dsel := parts[r*m.columns()+m.rank:], dparts[r*m.columns()+m.rank:]
	dstep, din := dsteps[at:at+n], du[at:at+n]
	for i := range m.state {
		ds, s0, s1 := k.dstate[i*n:(i+1)*n], before[i*n:(i+1)*n], after[i*n:(i+1)*n]
		a, da := k.a[i*n:(i+1)*n], k.da[i*n:(i+1)*n]
		dsel[m.state+i] += dense.Dot(g, s1)
		dense.Axpy(ds, sel[m.state+i], g)
		dense.Mul(k.decay, k.delta, a)
		dense.Exp(k.decay, k.decay)
		// s1 = e^(δ a) s0 + b δ u
		for c, v := range ds {
			forget := v * s0[c] * k.decay[c]
			dstep[c] += forget*a[c] + v*sel[i]*in[c]
			da[c] += forget * k.delta[c]
			din[c] += v * sel[i] * k.delta[c]
			k.line[c] = v * k.delta[c]
		}
		dsel[i] += dense.Dot(k.line, in)
		dense.Mul(ds, ds, k.decay)
	}
	for c := range dstep {
		dstep[c] *= slope(steps[at+c])
	}
}
