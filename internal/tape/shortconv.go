package tape

import (
	"atenia/grad"
	"atenia/internal/kernel/dense"
	"atenia/internal/plan"
)

// A shortConv is a bound gated short convolution: out (C ⊙ conv(B ⊙ u)) of [B | C | u].
type shortConv[F Float] struct {
	m       *Model[F]
	in, reg plan.RegisterRef
	p, out  linear[F]
	conv    conv[F]
}

// bindShortConv binds a gated short convolution.
func bindShortConv[F Float](b *Bind[F], p *plan.ConvParams) (recorder[F], error) {
	dim := int(p.Dim)
	c := &shortConv[F]{m: b.m, in: b.In[0], reg: b.Out[0]}
	var err error
	if c.p, err = b.linear("in", "in_bias", b.cols(c.in), 3*dim); err != nil {
		return nil, err
	}
	if c.out, err = b.linear("out", "out_bias", dim, b.cols(c.reg)); err != nil {
		return nil, err
	}
	c.conv, err = b.conv("conv", "conv_bias", dim, int(p.Kernel))
	return c, err
}

func (c *shortConv[F]) record(s *step[F]) error {
	s.begin(c.in)
	c.p.use(s)
	c.out.use(s)
	c.conv.use(s)
	rows, x := s.count(c.in), s.value(c.in)
	bcu := s.keep(rows * 3 * c.conv.width)
	y := s.output(c.reg)
	if y == nil {
		return s.t.Err()
	}
	c.p.forward(s, bcu, x, rows)
	v := c.inner(bcu, rows, s.batch.Lens)
	c.out.forward(s, y, v.h, rows)
	return s.end(keyShortConv, c)
}

// shortParts are the values of a short convolution, [rows, width] each.
type shortParts[F Float] struct {
	w                dense.Conv[F]
	b, c, u, z, y, h []F
}

// inner computes what lies between the projections.
func (c *shortConv[F]) inner(bcu []F, rows int, lens []int) shortParts[F] {
	s, n := &c.m.scratch, rows*c.conv.width
	v := shortParts[F]{w: c.conv.open(s), b: s.take(n), c: s.take(n), u: s.take(n), z: s.take(n), y: s.take(n), h: s.take(n)}
	for i, part := range [][]F{v.b, v.c, v.u} {
		for r := range rows {
			copy(part[r*c.conv.width:(r+1)*c.conv.width], bcu[(3*r+i)*c.conv.width:])
		}
	}
	dense.Mul(v.z, v.b, v.u)
	c.conv.forward(&v.w, s, v.y, v.z, lens)
	dense.Mul(v.h, v.c, v.y)
	return v
}

func shortConvBack[F Float](b *grad.OpaqueBack[F]) {
	c := b.Aux.(*shortConv[F])
	s := &c.m.scratch
	s.reset()
	bcu, lens := b.Saved(0), c.m.step.batch.Lens
	width := c.conv.width
	rows := len(bcu) / (3 * width)
	v := c.inner(bcu, rows, lens)
	dh := sink[F]{g: s.take(len(v.h))}
	c.out.back(b, &dh, b.DOut(0), v.h, rows)
	dbcu, dz := s.take(len(bcu)), s.zeros(len(v.z))
	dy := s.take(len(v.y))
	dense.Mul(dy, dh.g, v.c)
	c.conv.back(b, &v.w, s, dz, v.z, dy, lens)
	dense.Mul(v.y, v.y, dh.g) // of C
	dense.Mul(v.u, v.u, dz)   // of B
	dense.Mul(v.b, v.b, dz)   // of u
	for i, part := range [][]F{v.u, v.y, v.b} {
		for r := range rows {
			copy(dbcu[(3*r+i)*width:][:width], part[r*width:])
		}
	}
	dx := sinkOf(b, 0)
	c.p.back(b, &dx, dbcu, b.In(0), rows)
}
