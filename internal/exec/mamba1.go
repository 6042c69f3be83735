package exec

import (
	"atenia/internal/kernel"
	"atenia/internal/kernel/chunk"
	"atenia/internal/kernel/dense"
	"atenia/internal/plan"
	"atenia/tensor"
)

// A mamba1 is one bound selective scan (arXiv 2312.00752):
//
//	in ─▶ u │ z                       conv and silu of u
//	x(u) ─▶ δ │ B │ C                 norms of these where the model has them
//	Δ = softplus(dt(δ) + bias)        of every channel
//	out ◀─ (chunk.Diagonal + d·u) ⊙ silu(z)
//
// Rows of a run follow one another for a block of channels, so that its state
// stays in the L1 cache.
type mamba1 struct {
	p                        *plan.SSMParams
	x                        *Executor
	in, sel, dt, out         *linear
	inner, state, rank       int
	conv                     *convolving
	a                        []float32 // [state, inner]
	d                        []float32
	proj, rows, parts, delta scratch
	steps, y, line           scratch
	ssm                      stateRows
	split                    Kernel
	scan                     rowTask
}

// diagonalBlock is the number of channels of a piece of work.
const diagonalBlock = 256

// bindMamba1 binds a selective scan with a diagonal state.
func bindMamba1(b *Bind, p *plan.SSMParams) (Kernel, error) {
	m := &mamba1{p: p, x: b.x, inner: int(p.Inner), state: int(p.State), rank: int(p.DtRank)}
	if err := m.bindWeights(b); err != nil {
		return nil, err
	}
	var err error
	if m.ssm, err = b.stateRows(p.Layer, "ssm", m.inner*m.state); err != nil {
		return nil, err
	}
	m.proj, m.rows = b.floats(2*m.inner*b.maxRows), b.floats(m.inner*b.maxRows)
	m.parts, m.delta = b.floats(m.columns()*b.maxRows), b.floats(m.rank*b.maxRows)
	m.steps, m.y = b.floats(m.inner*b.maxRows), b.floats(m.inner*b.maxRows)
	m.line = b.floats(2 * diagonalBlock * b.x.cfg.Threads)
	in, out := b.In[0], b.Out[0]
	m.in.reads(in)
	for _, l := range []struct {
		l      *linear
		stride int
	}{{m.in, 2 * m.inner}, {m.sel, m.columns()}, {m.dt, m.inner}, {m.out, int(out.cols)}} {
		l.l.parts[0].stride = l.stride
	}
	m.conv.src, m.conv.dst, m.conv.stride, m.conv.to = m.proj, m.rows, 2*m.inner, m.inner
	m.split = overRows(in, m.columns(), m.splitRows)
	m.scan.run = m.scanBlocks
	return func(s *Step) error {
		rows := in.count(s)
		m.in.parts[0].dst = m.x.floatsOf(m.proj)
		m.in.prepareRegister(s, in)
		if err := m.in.multiply(s); err != nil {
			return err
		}
		m.conv.run(s)
		m.sel.parts[0].dst = m.x.floatsOf(m.parts)
		if err := m.sel.run(s, m.x.floatsOf(m.rows), rows); err != nil {
			return err
		}
		if err := m.split(s); err != nil {
			return err
		}
		m.dt.parts[0].dst = m.x.floatsOf(m.steps)
		if err := m.dt.run(s, m.x.floatsOf(m.delta), rows); err != nil {
			return err
		}
		m.scan.s = s
		s.parallel(len(s.Runs)*m.blocks(), 1, &m.scan)
		m.out.parts[0].dst = out.f32(s)
		return m.out.run(s, m.x.floatsOf(m.y), rows)
	}, nil
}

// columns is the width of the selecting projection: δ, B, C.
func (m *mamba1) columns() int { return m.rank + 2*m.state }

func (m *mamba1) blocks() int { return (m.inner + diagonalBlock - 1) / diagonalBlock }

func (m *mamba1) bindWeights(b *Bind) error {
	m.in, m.sel = b.linear(int(b.In[0].cols)), b.linear(m.inner)
	m.dt, m.out = b.linear(m.rank), b.linear(m.inner)
	for _, w := range []struct {
		l          *linear
		slot, bias string
		rows       int
	}{{m.in, "in", "in_bias", 2 * m.inner}, {m.sel, "x", "", m.columns()}, {m.dt, "dt", "dt_bias", m.inner}, {m.out, "out", "out_bias", int(b.Out[0].cols)}} {
		if err := b.add(w.l, w.slot, w.bias, w.rows); err != nil {
			return err
		}
	}
	var err error
	if m.d, err = b.vector("d", m.inner); err != nil {
		return err
	}
	a, err := b.matrix("a", m.inner, m.state)
	if err != nil {
		return err
	}
	if a.DType != tensor.F32 {
		return b.WeightErrorf("a", "%s, want F32", a.DType)
	}
	if !b.x.measuring {
		m.a = make([]float32, m.inner*m.state)
		for c := range m.inner {
			for n := range m.state {
				m.a[n*m.inner+c] = floats(a.Data)[c*m.state+n]
			}
		}
	}
	m.conv, err = b.convolving(m.p.Layer, m.inner, int(m.p.Conv))
	return err
}

// splitRows normalizes δ, B and C of rows lo to hi where the model does, and
// copies δ to where the product reads it.
func (m *mamba1) splitRows(_ *Step, _, lo, hi int) {
	parts, delta := m.x.floatsOf(m.parts), m.x.floatsOf(m.delta)
	for r := lo; r < hi; r++ {
		row := parts[r*m.columns() : (r+1)*m.columns()]
		if m.p.PlainNorm != 0 {
			for _, part := range [][]float32{row[:m.rank], row[m.rank : m.rank+m.state], row[m.rank+m.state:]} {
				kernel.RMSNorm(part, part, nil, m.p.NormEps, 0)
			}
		}
		copy(delta[r*m.rank:(r+1)*m.rank], row)
	}
}

// scanBlocks computes items lo to hi, one run and one block of channels each.
func (m *mamba1) scanBlocks(s *Step, worker, lo, hi int) {
	proj, rows, parts := m.x.floatsOf(m.proj), m.x.floatsOf(m.rows), m.x.floatsOf(m.parts)
	steps, y := m.x.floatsOf(m.steps), m.x.floatsOf(m.y)
	line := m.x.floatsOf(m.line)[worker*2*diagonalBlock:][:2*diagonalBlock]
	for i := lo; i < hi; i++ {
		run, c := &s.Runs[i/m.blocks()], i%m.blocks()*diagonalBlock
		end := min(c+diagonalBlock, m.inner)
		d := chunk.Diagonal[float32]{N: m.state, A: dense.Part[float32]{V: m.a[c:], Stride: m.inner}}
		state := dense.Part[float32]{V: m.ssm.of(run)[c:], Stride: m.inner}
		for r := run.First; r < run.First+run.Len; r++ {
			at := r * m.inner
			out, u, delta := y[at+c:at+end], rows[at+c:at+end], steps[at+c:at+end]
			sel := parts[r*m.columns()+m.rank:][:2*m.state]
			chunk.Softplus(delta)
			d.Step(state, out, delta, u, sel[:m.state], sel[m.state:], line)
			dense.AddMul(out, m.d[c:end], u)
			kernel.SiLUMul(out, proj[r*2*m.inner+m.inner+c:][:end-c], out)
		}
	}
}
