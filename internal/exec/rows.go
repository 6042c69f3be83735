package exec

import (
	"atenia/internal/kernel"
	"atenia/internal/plan"
)

// A rowTask applies a function to ranges of rows through the worker pool.
type rowTask struct {
	s   *Step
	run func(s *Step, worker, lo, hi int)
}

// Range implements [pool.Ranger].
func (t *rowTask) Range(worker, lo, hi int) { t.run(t.s, worker, lo, hi) }

// overRows returns a kernel that runs f over the rows of a register; cost is
// the arithmetic of one row.
func overRows(of *register, cost int, f func(s *Step, worker, lo, hi int)) Kernel {
	t := &rowTask{run: f}
	grain := grainFor(cost)
	return func(s *Step) error {
		t.s = s
		if n := of.count(s); n > 0 {
			s.parallel(n, grain, t)
		}
		return nil
	}
}

// bindEmbedding binds a table lookup.
func bindEmbedding(b *Bind, p *plan.EmbedParams) (Kernel, error) {
	b.x.tokens = int(p.Vocab)
	places, err := b.places(int(p.Dim), int(p.PosOffset))
	if err != nil {
		return nil, err
	}
	if t := b.x.cfg.Stream.Tables[b.WeightName("table")]; t != nil {
		return bindTable(b, p, t, places)
	}
	table, err := b.matrix("table", int(p.Vocab), int(p.Dim))
	if err != nil {
		return nil, err
	}
	out, dim := b.Out[0], int(p.Dim)
	row := len(table.Data) / table.Rows
	return overRows(out, dim, func(s *Step, worker, lo, hi int) {
		y := out.f32(s)
		for r := lo; r < hi; r++ {
			t, dst := int(s.Tokens[r]), y[r*dim:(r+1)*dim]
			kernel.LoadRow(dst, table.DType, table.Data[t*row:(t+1)*row])
			if p.Scale != 1 {
				kernel.Scale(dst, p.Scale)
			}
			places.add(s, worker, r, dst)
		}
	}), nil
}

// A places is what an embedding adds to a token's row: a learned row for its
// position, and one for its type.
type places struct {
	pos   *kernel.Matrix // nil = none
	kinds []float32      // [types, dim]; nil = none
	first int            // row of position 0
	line  scratch        // a row for each worker
}

// places binds the tables of positions and of token types, if the model has them.
func (b *Bind) places(dim, first int) (*places, error) {
	p := &places{first: first}
	v, err := b.weight("pos")
	if err != nil {
		return nil, err
	}
	if v.Data != nil {
		p.line = b.floats(dim * b.x.cfg.Threads)
		if p.pos, err = b.matrix("pos", v.Shape.Rows(), dim); err != nil {
			return nil, err
		}
		if have := p.pos.Rows - first; b.x.cfg.Context > have {
			return nil, b.WeightErrorf("pos", "positions end at %d, the context is %d", have, b.x.cfg.Context)
		}
	}
	if v, err = b.weight("type"); err != nil || v.Data == nil {
		return p, err
	}
	m, err := b.matrix("type", v.Shape.Rows(), dim)
	if err != nil {
		return nil, err
	}
	p.kinds, b.x.types = make([]float32, m.Rows*dim), m.Rows
	if b.x.measuring {
		return p, nil
	}
	for i, size := 0, len(m.Data)/m.Rows; i < m.Rows; i++ {
		kernel.LoadRow(p.kinds[i*dim:(i+1)*dim], m.DType, m.Data[i*size:(i+1)*size])
	}
	return p, nil
}

// add adds to the row of a token.
func (p *places) add(s *Step, worker, r int, dst []float32) {
	if p.pos != nil {
		run := &s.Runs[s.rowRun[r]]
		at, row := p.first+run.Pos+r-run.First, len(p.pos.Data)/p.pos.Rows
		line := s.x.floatsOf(p.line)[worker*len(dst) : (worker+1)*len(dst)]
		kernel.LoadRow(line, p.pos.DType, p.pos.Data[at*row:(at+1)*row])
		kernel.Add(dst, dst, line, 1)
	}
	if p.kinds == nil {
		return
	}
	t := 0
	if s.Types != nil {
		t = int(s.Types[r])
	}
	kernel.Add(dst, dst, p.kinds[t*len(dst):(t+1)*len(dst)], 1)
}

// bindNorm binds a root-mean-square or layer norm over whole rows.
func bindNorm(b *Bind, p *plan.NormParams) (Kernel, error) {
	dim := int(p.Dim)
	w, err := b.vector("weight", dim)
	if err != nil {
		return nil, err
	}
	bias, err := b.vector("bias", dim)
	if err != nil {
		return nil, err
	}
	if p.Groups > 1 {
		return nil, plan.Errorf(plan.ErrUnsupportedOpcode, plan.Whole, "norm over %d groups is not supported on the CPU yet", p.Groups)
	}
	in, out := b.In[0], b.Out[0]
	n := b.normRows(out, func(dst, src []float32) {
		if p.Kind == plan.NormLayer {
			kernel.LayerNorm(dst, src, w, bias, p.Eps)
		} else {
			kernel.RMSNorm(dst, src, w, p.Eps, p.Offset)
		}
	})
	return overRows(in, 4*dim, func(s *Step, worker, lo, hi int) {
		x := in.f32(s)
		for r := lo; r < hi; r++ {
			n.row(s, worker, r, x[r*dim:(r+1)*dim])
		}
	}), nil
}

// A normRows writes the norms of rows to a register: as floats, or, through a
// line that stays in L1, in the form that products read.
type normRows struct {
	out  *register
	norm func(dst, src []float32)
	line scratch // a row for each worker
	x    *Executor
}

func (b *Bind) normRows(out *register, norm func(dst, src []float32)) *normRows {
	b.prepares(out)
	return &normRows{out, norm, b.floats(int(out.cols) * b.x.cfg.Threads), b.x}
}

// row writes the norm of row r.
func (n *normRows) row(s *Step, worker, r int, src []float32) {
	cols := int(n.out.cols)
	if !n.out.prepared(s) {
		n.norm(n.out.f32(s)[r*cols:(r+1)*cols], src)
		return
	}
	line := n.x.floatsOf(n.line)[worker*cols : (worker+1)*cols]
	n.norm(line, src)
	size := n.out.form.RowBytes(cols)
	n.out.form.Prepare(n.out.bytes(s)[r*size:(r+1)*size], line)
}

// bindResidualAdd binds out = in0 + scale·in1, with the norm of the sum as a
// second output where the compiler fused it.
func bindResidualAdd(b *Bind, p *plan.AddParams) (Kernel, error) {
	in0, in1, out := b.In[0], b.In[1], b.Out[0]
	dim := int(out.cols)
	if p.Norm == plan.AddPlain {
		return overRows(out, 2*dim, func(s *Step, _, lo, hi int) {
			lo, hi = lo*dim, hi*dim
			kernel.Add(out.f32(s)[lo:hi], in0.f32(s)[lo:hi], in1.f32(s)[lo:hi], p.Scale)
		}), nil
	}
	w, err := b.vector("norm", dim)
	if err != nil {
		return nil, err
	}
	bias, err := b.vector("norm_bias", dim)
	if err != nil {
		return nil, err
	}
	norm := func(dst, src []float32) { kernel.RMSNorm(dst, src, w, p.NormEps, p.NormOff) }
	if p.Norm == plan.AddLayerNorm {
		norm = func(dst, src []float32) { kernel.LayerNorm(dst, src, w, bias, p.NormEps) }
	}
	n := b.normRows(b.Out[1], norm)
	return overRows(out, 6*dim, func(s *Step, worker, lo, hi int) {
		a, d, y := in0.f32(s), in1.f32(s), out.f32(s)
		for r := lo; r < hi; r++ {
			i, j := r*dim, (r+1)*dim
			kernel.Add(y[i:j], a[i:j], d[i:j], p.Scale)
			n.row(s, worker, r, y[i:j])
		}
	}), nil
}

// bindGatherRows binds the copy of the requested rows.
func bindGatherRows(b *Bind) (Kernel, error) {
	in, out := b.In[0], b.Out[0]
	dim := int(out.cols)
	return func(s *Step) error {
		x, y := in.f32(s), out.f32(s)
		for i, r := range s.Requested {
			copy(y[i*dim:(i+1)*dim], x[int(r)*dim:(int(r)+1)*dim])
		}
		return nil
	}, nil
}
