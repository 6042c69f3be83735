package exec

import (
	"unsafe"

	"atenia/internal/kernel"
	"atenia/internal/kernel/chunk"
	"atenia/internal/kernel/dense"
	"atenia/internal/plan"
	"atenia/tensor"
)

// A mamba2 is one bound state space dual mixer (arXiv 2405.21060):
//
//	in ─▶ z │ x │ B │ C │ dt          conv and silu of x, B, C
//	steps Δ = clamp(softplus(dt + bias)), decays λ = Δ·a
//	chunks of rows of each head: chunk.Scan with b = B, c = C, x = Δ·x
//	out ◀─ norm of each group of (y + d·x) ⊙ silu(z)
//
// Chunks begin at multiples of their length. The state holds, besides the matrix
// of each head at the beginning of the current chunk, the rows of that chunk so
// far: bits do not depend on how a sequence is cut into steps.
type mamba2 struct {
	p                            *plan.SSMParams
	x                            *Executor
	in, out                      *linear
	inner, state, heads, width   int // width of a head
	groups, chunk, mixed         int // mixed: columns of x, B and C
	conv                         *convolving
	a, d, dtBias, norm           []float32
	proj, rows, xs, bs, sums, cb scratch
	y, line                      scratch
	ssm, winX, winB              stateRows
	winSums                      sectionOf[float64]
	spans                        []mambaSpan
	first                        []int32 // of each run: its first span
	work                         []chunk.Work[float32]
	mix, finish                  Kernel
	scores, scan                 rowTask
}

// A mambaSpan is the rows of a step that are in one chunk of a run.
type mambaSpan struct {
	run      *Run
	row      int  // the first new row
	at, rows int  // its place in the chunk, and the rows of the chunk after the step
	window   bool // the chunk's rows are in the state, not in scratch
	moved    bool // they are in scratch and go to the state at the end, because the chunk before still uses it
}

// bindMamba2 binds a state space dual mixer.
func bindMamba2(b *Bind, p *plan.SSMParams) (Kernel, error) {
	m := &mamba2{
		p: p, x: b.x, inner: int(p.Inner), state: int(p.State), heads: int(p.Heads), width: int(p.HeadDim),
		groups: int(p.Groups), chunk: int(p.Chunk), mixed: int(p.Inner + 2*p.Groups*p.State),
	}
	if m.heads*m.width != m.inner || m.groups < 1 || m.heads%m.groups != 0 || m.chunk < 1 || p.NormGroups < 1 || m.inner%int(p.NormGroups) != 0 {
		return nil, plan.Errorf(plan.ErrInvalidPlan, plan.Whole, "%d heads of %d in %d groups do not make %d channels", m.heads, m.width, m.groups, m.inner)
	}
	if err := m.bindWeights(b); err != nil {
		return nil, err
	}
	if err := m.bindState(b); err != nil {
		return nil, err
	}
	m.bindScratch(b)
	in, out := b.In[0], b.Out[0]
	m.in.reads(in)
	m.in.parts[0].stride, m.out.parts[0].stride = m.columns(), int(out.cols)
	m.mix = overRows(in, 2*m.mixed, m.mixRows)
	m.finish = overRows(in, 8*m.inner, m.finishRows)
	m.scores.run, m.scan.run = m.scoreSpans, m.scanHeads
	return func(s *Step) error {
		rows := in.count(s)
		m.cut(s)
		m.in.parts[0].dst = m.x.floatsOf(m.proj)
		m.in.prepareRegister(s, in)
		if err := m.in.multiply(s); err != nil {
			return err
		}
		m.conv.run(s)
		if err := m.mix(s); err != nil {
			return err
		}
		m.scores.s, m.scan.s = s, s
		s.parallel(len(m.spans)*m.groups, 1, &m.scores)
		s.parallel(len(s.Runs)*m.heads, 1, &m.scan)
		if err := m.finish(s); err != nil {
			return err
		}
		m.out.parts[0].dst = out.f32(s)
		return m.out.run(s, m.x.floatsOf(m.y), rows)
	}, nil
}

// columns is the width of the input projection: z, then x, B, C, then dt.
func (m *mamba2) columns() int { return m.inner + m.mixed + m.heads }

func (m *mamba2) bindWeights(b *Bind) error {
	m.in, m.out = b.linear(int(b.In[0].cols)), b.linear(m.inner)
	if err := b.add(m.in, "in", "in_bias", m.columns()); err != nil {
		return err
	}
	if err := b.add(m.out, "out", "out_bias", int(b.Out[0].cols)); err != nil {
		return err
	}
	for _, w := range []struct {
		to   *[]float32
		slot string
		n    int
	}{{&m.a, "a", m.heads}, {&m.d, "d", m.heads}, {&m.dtBias, "dt_bias", m.heads}, {&m.norm, "norm", m.inner}} {
		var err error
		if *w.to, err = b.vector(w.slot, w.n); err != nil {
			return err
		}
	}
	var err error
	m.conv, err = b.convolving(m.p.Layer, m.mixed, int(m.p.Conv))
	return err
}

func (m *mamba2) bindState(b *Bind) error {
	for _, x := range []struct {
		to   *stateRows
		name string
		n    int
	}{
		{&m.ssm, "ssm", m.heads * m.state * m.width}, {&m.winX, "x", m.chunk * m.inner},
		{&m.winB, "b", m.chunk * m.groups * m.state},
	} {
		var err error
		if *x.to, err = b.stateRows(m.p.Layer, x.name, x.n); err != nil {
			return err
		}
	}
	var err error
	m.winSums, err = view[float64](b, m.p.Layer, "sums", tensor.F64, 8*m.chunk*m.heads)
	return err
}

func (m *mamba2) bindScratch(b *Bind) {
	m.proj, m.rows = b.floats(m.columns()*b.maxRows), b.floats(m.mixed*b.maxRows)
	m.conv.src, m.conv.dst, m.conv.from, m.conv.stride, m.conv.to = m.proj, m.rows, m.inner, m.columns(), m.mixed
	m.xs, m.bs = b.floats(m.inner*b.maxRows), b.floats(m.groups*m.state*b.maxRows)
	m.sums, m.cb = b.bytes(8*m.heads*b.maxRows), b.floats(m.groups*m.chunk*b.maxRows)
	m.y, m.line = b.floats(m.inner*b.maxRows), b.floats(m.inner*b.x.cfg.Threads)
	m.spans, m.first = make([]mambaSpan, 0, b.maxRows), make([]int32, 0, b.maxRows)
	m.work = make([]chunk.Work[float32], b.x.cfg.Threads)
	if !b.x.measuring {
		for i := range m.work {
			m.work[i].Room(min(m.chunk, b.maxRows), m.width)
		}
	}
}

// cut divides the runs of a step into spans. Of a chunk that this step begins and
// completes, no row goes to the state.
func (m *mamba2) cut(s *Step) {
	m.spans, m.first = m.spans[:0], m.first[:0]
	for i := range s.Runs {
		run := &s.Runs[i]
		m.first = append(m.first, int32(len(m.spans)))
		continued := run.Pos%m.chunk != 0
		for r := 0; r < run.Len; {
			at := (run.Pos + r) % m.chunk
			n := min(m.chunk-at, run.Len-r)
			sp := mambaSpan{run: run, row: run.First + r, at: at, rows: at + n}
			partial := sp.rows < m.chunk
			sp.window = at > 0 || partial && !(continued && r > 0)
			sp.moved = partial && !sp.window
			m.spans = append(m.spans, sp)
			r += n
		}
	}
	m.first = append(m.first, int32(len(m.spans)))
}

// span returns the span with a row.
func (m *mamba2) span(s *Step, r int) *mambaSpan {
	i := s.rowRun[r]
	run := &s.Runs[i]
	return &m.spans[int(m.first[i])+(run.Pos+r-run.First)/m.chunk-run.Pos/m.chunk]
}

// inputs returns the rows Δ·x of a head in a span's chunk.
func (m *mamba2) inputs(sp *mambaSpan, h int) []float32 {
	if sp.window {
		return m.winX.of(sp.run)[h*m.chunk*m.width:][:m.chunk*m.width]
	}
	return m.x.floatsOf(m.xs)[sp.row*m.inner+h*sp.rows*m.width:][:sp.rows*m.width]
}

// keys returns the rows of B of a group as columns.
func (m *mamba2) keys(sp *mambaSpan, g int) dense.Part[float32] {
	if sp.window {
		return m.windowKeys(sp, g)
	}
	n := m.state * sp.rows
	return dense.Part[float32]{V: m.x.floatsOf(m.bs)[sp.row*m.groups*m.state+g*n:][:n], Stride: sp.rows}
}

func (m *mamba2) windowKeys(sp *mambaSpan, g int) dense.Part[float32] {
	n := m.state * m.chunk
	return dense.Part[float32]{V: m.winB.of(sp.run)[g*n:][:n], Stride: m.chunk}
}

// decays returns the sums of decays of a head.
func (m *mamba2) decays(sp *mambaSpan, h int) []float64 {
	if sp.window {
		return m.winSums.of(sp.run)[h*m.chunk:][:sp.rows]
	}
	return doubles(m.x.bytesOf(m.sums))[sp.row*m.heads+h*sp.rows:][:sp.rows]
}

// doubles views aligned bytes as float64.
func doubles(b []byte) []float64 {
	return unsafe.Slice((*float64)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/8)
}

// mixRows writes the steps' inputs, B and decays of rows lo to hi where their chunks
// are.
func (m *mamba2) mixRows(s *Step, _, lo, hi int) {
	proj, rows := m.x.floatsOf(m.proj), m.x.floatsOf(m.rows)
	for r := lo; r < hi; r++ {
		sp, row := m.span(s, r), rows[r*m.mixed:(r+1)*m.mixed]
		dt := proj[r*m.columns()+m.inner+m.mixed:][:m.heads]
		kernel.AddBias(dt, m.dtBias)
		chunk.Softplus(dt)
		at := sp.at + r - sp.row
		for h, step := range dt {
			step = min(max(step, m.p.DtMin), m.p.DtMax)
			m.decays(sp, h)[at] = float64(step) * float64(m.a[h])
			x := m.inputs(sp, h)[at*m.width:][:m.width]
			copy(x, row[h*m.width:])
			kernel.Scale(x, step)
		}
		for g := range m.groups {
			m.column(m.keys(sp, g), row, g, at)
		}
	}
}

// column writes B of a row as a column.
func (m *mamba2) column(to dense.Part[float32], row []float32, g, at int) {
	for i, v := range row[m.inner+g*m.state:][:m.state] {
		to.V[i*to.Stride+at] = v
	}
}

// scoreSpans computes C·B of items lo to hi, one span and one group each.
func (m *mamba2) scoreSpans(s *Step, worker, lo, hi int) {
	for i := lo; i < hi; i++ {
		sp, g := &m.spans[i/m.groups], i%m.groups
		chunk.Scores(&m.work[worker], m.scoresOf(s, sp, g), m.queries(sp, g), m.keys(sp, g), sp.at, sp.rows, m.state)
	}
}

func (m *mamba2) scoresOf(s *Step, sp *mambaSpan, g int) dense.Part[float32] {
	return dense.Part[float32]{V: m.x.floatsOf(m.cb)[(g*s.rows+sp.row)*m.chunk:], Stride: m.chunk}
}

// queries returns the rows of C of a span.
func (m *mamba2) queries(sp *mambaSpan, g int) dense.Part[float32] {
	return dense.Part[float32]{V: m.x.floatsOf(m.rows)[sp.row*m.mixed+m.inner+(m.groups+g)*m.state:], Stride: m.mixed}
}

// scanHeads computes items lo to hi, one run and one head each, chunk by chunk.
func (m *mamba2) scanHeads(s *Step, worker, lo, hi int) {
	y := m.x.floatsOf(m.y)
	for i := lo; i < hi; i++ {
		r, h := i/m.heads, i%m.heads
		g := h * m.groups / m.heads
		state := m.ssm.of(&s.Runs[r])[h*m.state*m.width:][:m.state*m.width]
		spans := m.spans[m.first[r]:m.first[r+1]]
		for k := range spans {
			sp := &spans[k]
			c := chunk.Scan[float32]{
				At: sp.at, Rows: sp.rows, N: m.state, P: m.width,
				Decay: m.decays(sp, h), X: m.inputs(sp, h), B: m.keys(sp, g), C: m.queries(sp, g), CB: m.scoresOf(s, sp, g), State: state,
			}
			chunk.Accumulate(c.Decay, sp.at)
			c.Outputs(&m.work[worker], dense.Part[float32]{V: y[sp.row*m.inner+h*m.width:], Stride: m.inner})
			if sp.rows == m.chunk {
				c.Advance(&m.work[worker])
			}
			if sp.moved {
				to := *sp
				to.window = true
				copy(m.inputs(&to, h), c.X)
				copy(m.decays(&to, h), c.Decay)
			}
		}
	}
}

// finishRows adds the direct path of rows lo to hi, gates and normalizes them.
func (m *mamba2) finishRows(s *Step, worker, lo, hi int) {
	y, proj, rows := m.x.floatsOf(m.y), m.x.floatsOf(m.proj), m.x.floatsOf(m.rows)
	line := m.x.floatsOf(m.line)[worker*m.inner:][:m.inner]
	part := m.inner / int(m.p.NormGroups)
	for r := lo; r < hi; r++ {
		sp, row, out := m.span(s, r), rows[r*m.mixed:(r+1)*m.mixed], y[r*m.inner:(r+1)*m.inner]
		for h, d := range m.d {
			head := out[h*m.width:][:m.width]
			kernel.Add(head, head, row[h*m.width:][:m.width], d)
		}
		kernel.SiLUMul(line, proj[r*m.columns():][:m.inner], out)
		if m.norm == nil {
			copy(out, line)
		} else {
			for at := 0; at < m.inner; at += part {
				kernel.RMSNorm(out[at:at+part], line[at:at+part], m.norm[at:at+part], m.p.NormEps, 0)
			}
		}
		if sp.moved {
			for g := range m.groups {
				m.column(m.windowKeys(sp, g), row, g, sp.at+r-sp.row)
			}
		}
	}
}
