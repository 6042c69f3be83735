package tape

import (
	"math"

	"atenia/grad"
	"atenia/internal/kernel/chunk"
	"atenia/internal/kernel/dense"
	"atenia/internal/plan"
)

// A mamba2 is a bound state space dual mixer, chunk by chunk from the beginning of
// each document, as inference computes it.
type mamba2[F Float] struct {
	m                           *Model[F]
	in, reg                     plan.RegisterRef
	proj, out                   linear[F]
	conv                        conv[F]
	a, d, dtBias, norm          operand[F]
	inner, state, heads, width  int // width of a head
	groups, parts, mixed, chunk int // parts that are normalized by themselves
	eps, least, most            F
	work                        chunk.Work[F]
	vals                        mamba2Values[F]
	at                          mamba2Chunk[F]
	of                          chunk.Scan[F]
	adjoint                     chunk.ScanBack[F]
	lambda                      []float64
}

// What a mamba2 saves, by place.
const (
	savedProj   = iota // [rows, z | x B C | dt]
	savedMixed         // [rows, x B C] before the activation
	savedScan          // [rows, inner] outputs of the scan
	savedStates        // [chunks, heads, state, width] before each chunk
)

// bindMamba2 binds a state space dual mixer (Mamba 2).
func bindMamba2[F Float](b *Bind[F], p *plan.SSMParams) (recorder[F], error) {
	m := &mamba2[F]{
		m: b.m, in: b.In[0], reg: b.Out[0],
		inner: int(p.Inner), state: int(p.State), heads: int(p.Heads), width: int(p.HeadDim),
		groups: int(p.Groups), parts: int(p.NormGroups), mixed: int(p.Inner + 2*p.Groups*p.State), chunk: int(p.Chunk),
		eps: exact[F](p.NormEps), least: exact[F](p.DtMin), most: exact[F](p.DtMax),
	}
	if m.groups < 1 || m.parts < 1 || m.chunk < 1 || m.heads%m.groups != 0 || m.inner%m.parts != 0 || m.heads*m.width != m.inner {
		return nil, plan.Errorf(plan.ErrInvalidPlan, plan.Whole, "%d heads of %d in %d groups do not make %d channels", m.heads, m.width, m.groups, m.inner)
	}
	var err error
	if m.proj, err = b.linear("in", "in_bias", b.cols(m.in), m.columns()); err != nil {
		return nil, err
	}
	if m.out, err = b.linear("out", "out_bias", m.inner, b.cols(m.reg)); err != nil {
		return nil, err
	}
	for _, w := range []struct {
		to   *operand[F]
		slot string
		n    int
	}{{&m.a, "a", m.heads}, {&m.d, "d", m.heads}, {&m.dtBias, "dt_bias", m.heads}, {&m.norm, "norm", m.inner}} {
		if *w.to, err = b.vector(w.slot, w.n); err != nil {
			return nil, err
		}
	}
	m.conv, err = b.conv("conv", "conv_bias", m.mixed, int(p.Conv))
	return m, err
}

func (m *mamba2[F]) columns() int { return m.inner + m.mixed + m.heads }

func (m *mamba2[F]) need(rows int) need {
	chunks := (rows+m.chunk-1)/m.chunk + rows // a chunk of each document may be short
	states := min(chunks, rows) * m.heads * m.state * m.width
	n := need{out: rows * m.out.out, saved: rows*(m.columns()+m.mixed+m.inner) + states}
	n.scratch = rows*(2*m.columns()+4*m.mixed+8*m.inner+4*m.heads) + 4*m.mixed*m.conv.taps + 2*m.heads*m.state*m.width + lows(rows, &m.proj, &m.out)
	return n
}

func (m *mamba2[F]) record(s *step[F]) error {
	s.begin(m.in)
	m.proj.use(s)
	m.out.use(s)
	m.conv.use(s)
	for _, o := range []*operand[F]{&m.a, &m.d, &m.dtBias, &m.norm} {
		s.use(o)
	}
	rows, x := s.count(m.in), s.value(m.in)
	lens := s.batch.Lens
	proj, mixed, y := s.keep(rows*m.columns()), s.keep(rows*m.mixed), s.keep(rows*m.inner)
	states := s.keep(m.chunks(lens) * m.heads * m.state * m.width)
	out := s.output(m.reg)
	if out == nil {
		return s.t.Err()
	}
	t := &m.m.scratch
	m.proj.forward(s, proj, x, rows)
	k := m.conv.open(t)
	m.conv.forward(&k, t, mixed, columns(t.take(rows*m.mixed), proj, rows, m.columns(), m.inner, m.mixed), lens)
	v := m.values(s.w, t, proj, mixed, rows)
	m.scan(t, lens, v, y, states)
	m.out.forward(s, out, m.finish(s.w, t, v, proj, y, rows, nil), rows)
	return s.end(keyMamba2, m)
}

// chunks returns the number of chunks of all documents.
func (m *mamba2[F]) chunks(lens []int) (n int) {
	for _, l := range lens {
		n += (l + m.chunk - 1) / m.chunk
	}
	return n
}

// A mamba2Values is what follows from the projection.
type mamba2Values[F Float] struct {
	mixed []F // [rows, x B C]
	raw   []F // [rows, heads] dt with its bias
	steps []F // [rows, heads]
}

func (m *mamba2[F]) values(w *dense.Work[F], s *scratch[F], proj, before []F, rows int) *mamba2Values[F] {
	v := &m.vals
	*v = mamba2Values[F]{mixed: s.take(len(before)), raw: s.take(rows * m.heads), steps: s.take(rows * m.heads)}
	w.Activate(dense.SiLU, v.mixed, before)
	columns(v.raw, proj, rows, m.columns(), m.inner+m.mixed, m.heads)
	for r := range rows {
		add(v.raw[r*m.heads:(r+1)*m.heads], m.dtBias.value())
	}
	copy(v.steps, v.raw)
	chunk.Softplus(v.steps)
	for i, d := range v.steps {
		v.steps[i] = min(max(d, m.least), m.most)
	}
	return v
}

// A mamba2Chunk is one chunk of a document with the memory of its arrays.
type mamba2Chunk[F Float] struct {
	row, rows, index int
	x, b, cb         []F // of a head, of a group
	decay            []float64
}

// each calls f with the chunks of documents, in order or backwards. first says that a
// document begins, last that it ends.
func (m *mamba2[F]) each(lens []int, back bool, f func(row, rows, index int, first, last bool)) {
	row, index := 0, 0
	if back {
		for _, n := range lens {
			row += n
		}
		index = m.chunks(lens)
	}
	for d := range lens {
		n := lens[d]
		if back {
			n = lens[len(lens)-1-d]
			row -= n
		}
		k := (n + m.chunk - 1) / m.chunk
		for c := range k {
			at := c
			if back {
				index--
				at = k - 1 - c
			}
			f(row+at*m.chunk, min(m.chunk, n-at*m.chunk), index, at == 0, at == k-1)
			if !back {
				index++
			}
		}
		if !back {
			row += n
		}
	}
}

// group fills the arrays of a chunk for a group: B by columns and its products with C.
func (m *mamba2[F]) group(k *mamba2Chunk[F], v *mamba2Values[F], g int) {
	for r := range k.rows {
		for i, b := range v.mixed[(k.row+r)*m.mixed+m.inner+g*m.state:][:m.state] {
			k.b[i*k.rows+r] = b
		}
	}
	chunk.Scores(&m.work, dense.Part[F]{V: k.cb, Stride: k.rows}, m.queries(k, v.mixed, g), m.keys(k, k.b), 0, k.rows, m.state)
}

func (m *mamba2[F]) keys(k *mamba2Chunk[F], b []F) dense.Part[F] {
	return dense.Part[F]{V: b, Stride: k.rows}
}

// queries returns C of a group in rows of x, B, C.
func (m *mamba2[F]) queries(k *mamba2Chunk[F], mixed []F, g int) dense.Part[F] {
	return dense.Part[F]{V: mixed[k.row*m.mixed+m.inner+(m.groups+g)*m.state:], Stride: m.mixed}
}

// head returns the chunk of a head, with the state before it.
func (m *mamba2[F]) head(k *mamba2Chunk[F], v *mamba2Values[F], h int, state []F) *chunk.Scan[F] {
	a := float64(m.a.value()[h])
	for r := range k.rows {
		step := v.steps[(k.row+r)*m.heads+h]
		k.decay[r] = float64(step) * a
		x := k.x[r*m.width : (r+1)*m.width]
		copy(x, v.mixed[(k.row+r)*m.mixed+h*m.width:])
		dense.Scale(x, step)
	}
	chunk.Accumulate(k.decay[:k.rows], 0)
	m.of = chunk.Scan[F]{
		Rows: k.rows, N: m.state, P: m.width, Decay: k.decay[:k.rows], X: k.x, B: m.keys(k, k.b),
		C: m.queries(k, v.mixed, h*m.groups/m.heads), CB: dense.Part[F]{V: k.cb, Stride: k.rows}, State: state,
	}
	return &m.of
}

func (m *mamba2[F]) chunkOf(s *scratch[F]) *mamba2Chunk[F] {
	if m.lambda == nil {
		m.at.decay, m.lambda = make([]float64, m.chunk), make([]float64, m.chunk)
	}
	m.at.x, m.at.b, m.at.cb = s.take(m.chunk*m.width), s.take(m.chunk*m.state), s.take(m.chunk*m.chunk)
	return &m.at
}

// scan writes the outputs of all documents, and the states before their chunks.
func (m *mamba2[F]) scan(s *scratch[F], lens []int, v *mamba2Values[F], y, states []F) {
	k, size := m.chunkOf(s), m.state*m.width
	m.each(lens, false, func(row, rows, index int, first, last bool) {
		k.row, k.rows, k.index = row, rows, index
		all := states[index*m.heads*size:]
		if first {
			clear(all[:m.heads*size])
		}
		for h := range m.heads {
			if h%(m.heads/m.groups) == 0 {
				m.group(k, v, h*m.groups/m.heads)
			}
			c := m.head(k, v, h, all[h*size:][:size])
			c.Outputs(&m.work, dense.Part[F]{V: y[row*m.inner+h*m.width:], Stride: m.inner})
			if !last {
				next := all[(m.heads+h)*size:][:size]
				copy(next, c.State)
				c.State = next
				c.Advance(&m.work)
			}
		}
	})
}

// finish returns the gated and normalized outputs; gated, if not nil, gets them
// before the norm.
func (m *mamba2[F]) finish(w *dense.Work[F], s *scratch[F], v *mamba2Values[F], proj, y []F, rows int, gated []F) []F {
	if gated == nil {
		gated = s.take(len(y))
	}
	m.skip(gated, y, v.mixed, rows)
	w.ActivateMul(dense.SiLU, gated, columns(s.take(len(y)), proj, rows, m.columns(), 0, m.inner), gated)
	if m.norm.value() == nil {
		return gated
	}
	out, part := s.take(len(y)), m.inner/m.parts
	for i := 0; i < len(y); i += part {
		inv, weight := m.inverse(gated[i:i+part]), m.norm.value()[i%m.inner:][:part]
		for j, g := range gated[i : i+part] {
			out[i+j] = g * inv * weight[j]
		}
	}
	return out
}

func (m *mamba2[F]) inverse(x []F) F {
	return F(1 / math.Sqrt(dense.SumSquares(x)/float64(len(x))+float64(m.eps)))
}

// skip writes y + d·x.
func (m *mamba2[F]) skip(dst, y, mixed []F, rows int) {
	copy(dst, y)
	for r := range rows {
		for h, d := range m.d.value() {
			dense.Axpy(dst[r*m.inner+h*m.width:][:m.width], d, mixed[r*m.mixed+h*m.width:][:m.width])
		}
	}
}

func mamba2Back[F Float](b *grad.OpaqueBack[F]) {
	m := b.Aux.(*mamba2[F])
	w, s, lens := dense.Of[F](b.Work()), &m.m.scratch, m.m.step.batch.Lens
	s.reset()
	proj, before, y, states := b.Saved(savedProj), b.Saved(savedMixed), b.Saved(savedScan), b.Saved(savedStates)
	rows := len(y) / m.inner
	v := m.values(w, s, proj, before, rows)
	gated := s.take(len(y))
	normed := m.finish(w, s, v, proj, y, rows, gated)
	dgated := sink[F]{g: s.take(len(y))}
	m.out.back(b, &dgated, b.DOut(0), normed, rows)
	dproj, dmixed := s.zeros(len(proj)), s.zeros(len(before))
	if m.norm.value() != nil {
		m.normBack(b, dgated.g, gated)
	}
	// gated = q·silu(z), q = y + d·x
	q, z := gated, columns(s.take(len(y)), proj, rows, m.columns(), 0, m.inner)
	m.skip(q, y, v.mixed, rows)
	dy, dz := s.zeros(len(y)), s.zeros(len(y))
	w.ActivateMulBack(dense.SiLU, dz, dy, z, q, dgated.g)
	addColumns(dproj, dz, rows, m.columns(), 0, m.inner)
	dd := m.d.grad(b)
	for r := range rows {
		for h, d := range m.d.value() {
			g, at := dy[r*m.inner+h*m.width:][:m.width], r*m.mixed+h*m.width
			dense.Axpy(dmixed[at:at+m.width], d, g)
			if dd != nil {
				dd[h] += dense.Dot(g, v.mixed[at:at+m.width])
			}
		}
	}
	dsteps := s.zeros(len(v.steps))
	m.scanBack(b, s, lens, v, states, dy, dmixed, dsteps)
	m.stepsBack(b, v, dsteps, dproj, rows)
	dbefore, dx := s.zeros(len(before)), s.zeros(len(before))
	w.ActivateBack(dense.SiLU, dbefore, before, dmixed)
	k := m.conv.open(s)
	m.conv.back(b, &k, s, dx, columns(s.take(len(before)), proj, rows, m.columns(), m.inner, m.mixed), dbefore, lens)
	addColumns(dproj, dx, rows, m.columns(), m.inner, m.mixed)
	to := sinkOf(b, 0)
	m.proj.back(b, &to, dproj, b.In(0), rows)
}

// normBack replaces the gradient of the norm by that of what it normalizes.
func (m *mamba2[F]) normBack(b *grad.OpaqueBack[F], d, x []F) {
	part, g := m.inner/m.parts, m.norm.grad(b)
	for i := 0; i < len(x); i += part {
		v, dv, weight := x[i:i+part], d[i:i+part], m.norm.value()[i%m.inner:][:part]
		inv := m.inverse(v)
		if g != nil {
			for j := range v {
				g[i%m.inner+j] += dv[j] * v[j] * inv
			}
		}
		dense.Mul(dv, dv, weight)
		mean := dense.Dot(dv, v) * inv * inv / F(part)
		dense.Axpy(dv, -mean, v)
		dense.Scale(dv, inv)
	}
}

// scanBack adds the gradients of x, B, C to dmixed, of steps to dsteps, and of a.
func (m *mamba2[F]) scanBack(b *grad.OpaqueBack[F], s *scratch[F], lens []int, v *mamba2Values[F], states, dy, dmixed, dsteps []F) {
	k, size := m.chunkOf(s), m.state*m.width
	dstates := s.take(m.heads * size)
	dcb, dkeys := s.take(m.chunk*m.chunk), s.take(m.chunk*m.state)
	g, da := &m.adjoint, m.a.grad(b)
	g.X = s.take(m.chunk * m.width)
	m.each(lens, true, func(row, rows, index int, first, last bool) {
		k.row, k.rows, k.index = row, rows, index
		g.CB, g.Lambda, g.Ends = dcb[:rows*rows], m.lambda[:rows], !last
		g.B = m.keys(k, dkeys[:m.state*rows])
		for h := range m.heads {
			group, per := h*m.groups/m.heads, m.heads/m.groups
			if h%per == 0 {
				m.group(k, v, group)
				clear(g.CB)
				clear(g.B.V)
			}
			c := m.head(k, v, h, states[(index*m.heads+h)*size:][:size])
			g.Y = dense.Part[F]{V: dy[row*m.inner+h*m.width:], Stride: m.inner}
			g.C, g.State = m.queries(k, dmixed, group), dstates[h*size:][:size]
			c.Back(&m.work, g)
			m.inputsBack(k, v, g, h, dmixed, dsteps, da)
			if h%per == per-1 {
				chunk.ScoresBack(&m.work, g.CB, g.C, g.B, c.C, c.B, rows, m.state)
				for r := range rows {
					to := dmixed[(row+r)*m.mixed+m.inner+group*m.state:][:m.state]
					for i := range to {
						to[i] += g.B.V[i*rows+r]
					}
				}
			}
		}
	})
}

// inputsBack is the adjoint of Δ·x and Δ·a of a head.
func (m *mamba2[F]) inputsBack(k *mamba2Chunk[F], v *mamba2Values[F], g *chunk.ScanBack[F], h int, dmixed, dsteps, da []F) {
	a := m.a.value()[h]
	for r := range k.rows {
		at, step := (k.row+r)*m.mixed+h*m.width, v.steps[(k.row+r)*m.heads+h]
		d := g.X[r*m.width : (r+1)*m.width]
		dense.Axpy(dmixed[at:at+m.width], step, d)
		dsteps[(k.row+r)*m.heads+h] += dense.Dot(d, v.mixed[at:at+m.width]) + F(g.Lambda[r])*a
		if da != nil {
			da[h] += F(g.Lambda[r]) * step
		}
	}
}

// stepsBack is the adjoint of the bounds of steps, of softplus and of the bias.
func (m *mamba2[F]) stepsBack(b *grad.OpaqueBack[F], v *mamba2Values[F], dsteps, dproj []F, rows int) {
	g := m.dtBias.grad(b)
	for r := range rows {
		to := dproj[r*m.columns()+m.inner+m.mixed:][:m.heads]
		for h := range to {
			i := r*m.heads + h
			d := dsteps[i] * slope(v.raw[i])
			if v.steps[i] <= m.least && m.least > 0 || v.steps[i] >= m.most {
				d = 0
			}
			to[h] += d
			if g != nil {
				g[h] += d
			}
		}
	}
}

// slope is the derivative of softplus.
func slope[F Float](x F) F { return F(1 / (1 + math.Exp(-float64(x)))) }
