package exec

import (
	"atenia/internal/kernel"
	"atenia/internal/plan"
)

// A merger is one bound merger of neighbouring patches. Patches are listed by
// square blocks, so that the rows of a block lie one after the other and joining
// them moves nothing.
type merger struct {
	x           *Executor
	p           *plan.MergeParams
	in, out     *register
	cell        int // patches of a block
	width       int // of what the first product reads
	normed      scratch
	hidden      [2]scratch
	products    []*linear
	act         func(dst, src []float32)
	weight      []float32
	bias        []float32
	normalize   Kernel
	activate    rowTask
	hiddenWidth int
}

// bindSpatialMerge binds the merger of neighbouring patches.
func bindSpatialMerge(b *Bind, p *plan.MergeParams) (Kernel, error) { return bindMerger(b, p) }

// bindDeepstackTap binds a merger of features of an inner vision layer.
func bindDeepstackTap(b *Bind, p *plan.MergeParams) (Kernel, error) { return bindMerger(b, p) }

func bindMerger(b *Bind, p *plan.MergeParams) (Kernel, error) {
	m := &merger{x: b.x, p: p, in: b.In[0], out: b.Out[0], cell: int(p.Merge * p.Merge)}
	m.width = int(m.in.cols)
	if p.Pool == 0 {
		m.width *= m.cell
	}
	if err := m.bindNorm(b); err != nil {
		return nil, err
	}
	most := (b.maxRows + m.cell - 1) / m.cell
	cols := m.width
	if b.Has("merge") {
		if err := m.add(b, "merge", "", cols, int(m.in.cols)); err != nil {
			return nil, err
		}
		cols = int(m.in.cols)
		m.hidden[1] = b.floats(cols * most)
	}
	rows := int(m.out.cols)
	if b.Has("fc2") {
		v, err := b.weight("fc1")
		if err != nil {
			return nil, err
		}
		rows = v.Shape.Rows()
		m.hiddenWidth = rows
	}
	if err := m.add(b, "fc1", "fc1_bias", cols, rows); err != nil {
		return nil, err
	}
	if m.hiddenWidth > 0 {
		m.hidden[0] = b.floats(rows * most)
		if err := m.add(b, "fc2", "fc2_bias", rows, int(m.out.cols)); err != nil {
			return nil, err
		}
		var ok bool
		if m.act, ok = plainActs[p.Act]; !ok {
			return nil, plan.Errorf(plan.ErrUnsupportedOpcode, plan.Whole, "activation %d is not supported on the CPU yet", p.Act)
		}
		m.activate.run = m.activateRows
	}
	return m.run, nil
}

// add binds the next product.
func (m *merger) add(b *Bind, slot, bias string, cols, rows int) error {
	l, err := b.one(slot, bias, cols, rows)
	m.products = append(m.products, l)
	return err
}

func (m *merger) bindNorm(b *Bind) error {
	wide := int(m.in.cols)
	if m.p.PostShuffleNorm != 0 {
		wide = m.width
	}
	var err error
	if b.Has("norm") {
		if m.weight, err = b.vector("norm", wide); err != nil {
			return err
		}
	}
	if b.Has("norm_bias") {
		if m.bias, err = b.vector("norm_bias", wide); err != nil {
			return err
		}
	}
	m.normed = b.floats(int(m.in.cols) * b.maxRows)
	m.normalize = overRows(m.out, 4*m.width, m.normRows)
	return nil
}

// normRows writes the rows that the first product reads for cells lo to hi.
func (m *merger) normRows(s *Step, _, lo, hi int) {
	n := int(m.in.cols)
	src, dst := m.in.f32(s), m.x.floatsOf(m.normed)
	for c := lo; c < hi; c++ {
		from, to := src[c*m.cell*n:(c+1)*m.cell*n], dst[c*m.width:(c+1)*m.width]
		switch {
		case m.p.Pool != 0:
			copy(to, from[:n])
			for k := 1; k < m.cell; k++ {
				kernel.AddBias(to, from[k*n:(k+1)*n])
			}
			kernel.Scale(to, 1/float32(m.cell))
			m.norm(to, to)
		case m.p.PostShuffleNorm != 0:
			m.norm(to, from)
		default:
			for k := range m.cell {
				m.norm(to[k*n:(k+1)*n], from[k*n:(k+1)*n])
			}
		}
	}
}

func (m *merger) norm(dst, src []float32) {
	switch {
	case m.weight == nil:
		copy(dst, src)
	case m.p.Kind == plan.NormLayer:
		kernel.LayerNorm(dst, src, m.weight, m.bias, m.p.Eps)
	default:
		kernel.RMSNorm(dst, src, m.weight, m.p.Eps, m.p.Offset)
	}
}

func (m *merger) run(s *Step) error {
	if err := m.normalize(s); err != nil {
		return err
	}
	rows := m.out.count(s)
	src := m.x.floatsOf(m.normed)
	for i, l := range m.products {
		dst := m.out.f32(s)
		first := m.hiddenWidth > 0 && i == len(m.products)-2
		switch {
		case first:
			dst = m.x.floatsOf(m.hidden[0])
		case i < len(m.products)-1:
			dst = m.x.floatsOf(m.hidden[1])
		}
		l.parts[0].dst = dst
		if err := l.run(s, src, rows); err != nil {
			return err
		}
		if first {
			m.activate.s = s
			s.parallel(rows, grainFor(16*m.hiddenWidth), &m.activate)
		}
		src = dst
	}
	return nil
}

func (m *merger) activateRows(_ *Step, _, lo, hi int) {
	x := m.x.floatsOf(m.hidden[0])[lo*m.hiddenWidth : hi*m.hiddenWidth]
	m.act(x, x)
}
