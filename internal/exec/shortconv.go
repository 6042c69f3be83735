package exec

import (
	"atenia/internal/kernel"
	"atenia/internal/kernel/dense"
	"atenia/internal/plan"
)

// convColumns is the number of channels that a worker convolves at a time: rows of
// a piece stay in L1 while its taps pass over them.
const convColumns = 256

// A shortConv is a bound gated short convolution,
//
//	[B | C | u] = in x ;  y = out (C ⊙ conv(B ⊙ u))
//
// whose state is the last rows of B ⊙ u.
type shortConv struct {
	x       *Executor
	conv    dense.Conv[float32]
	before  stateRows
	in, out *linear
	bcu, y  scratch
}

// bindShortConv binds a gated short convolution.
func bindShortConv(b *Bind, p *plan.ConvParams) (Kernel, error) {
	dim, in, out := int(p.Dim), b.In[0], b.Out[0]
	c := &shortConv{x: b.x, in: b.linear(int(in.cols)), out: b.linear(dim)}
	var err error
	if c.conv, err = b.conv("conv", "conv_bias", dim, int(p.Kernel)); err != nil {
		return nil, err
	}
	if c.before, err = b.stateRows(p.Layer, "conv", (int(p.Kernel)-1)*dim); err != nil {
		return nil, err
	}
	if err := b.add(c.in, "in", "in_bias", 3*dim); err != nil {
		return nil, err
	}
	if err := b.add(c.out, "out", "out_bias", int(out.cols)); err != nil {
		return nil, err
	}
	c.bcu, c.y = b.floats(3*dim*b.maxRows), b.floats(dim*b.maxRows)
	c.in.parts[0].stride, c.out.parts[0].stride = 3*dim, int(out.cols)
	c.in.reads(in)
	pieces := (dim + convColumns - 1) / convColumns
	mix := &rowTask{run: func(s *Step, _, lo, hi int) {
		for i := lo; i < hi; i++ {
			from := i % pieces * convColumns
			c.mix(s, &s.Runs[i/pieces], from, min(from+convColumns, dim))
		}
	}}
	return func(s *Step) error {
		c.in.parts[0].dst, c.out.parts[0].dst = c.x.floatsOf(c.bcu), out.f32(s)
		c.in.prepareRegister(s, in)
		if err := c.in.multiply(s); err != nil {
			return err
		}
		mix.s = s
		s.parallel(len(s.Runs)*pieces, 1, mix)
		return c.out.run(s, c.x.floatsOf(c.y), in.count(s))
	}, nil
}

// mix computes channels [lo, hi) of a run.
func (c *shortConv) mix(s *Step, run *Run, lo, hi int) {
	dim := c.conv.Width
	bcu := c.x.floatsOf(c.bcu)[3*dim*run.First:]
	y := c.x.floatsOf(c.y)[dim*run.First:]
	for r := range run.Len {
		row := bcu[3*dim*r:]
		kernel.Mul(row[2*dim+lo:2*dim+hi], row[lo:hi], row[2*dim+lo:2*dim+hi])
	}
	before := c.before.of(run)
	c.conv.Forward(y, dim, bcu[2*dim:], 3*dim, before, run.Len, lo, hi)
	c.conv.Keep(before, bcu[2*dim:], 3*dim, run.Len, lo, hi)
	for r := range run.Len {
		kernel.Mul(y[dim*r+lo:dim*r+hi], y[dim*r+lo:dim*r+hi], bcu[3*dim*r+dim+lo:3*dim*r+dim+hi])
	}
}
