package tape

import (
	"atenia/grad"
	"atenia/internal/kernel/dense"
	"atenia/internal/plan"
)

// A causal is the weights of a causal convolution, whose taps files have side by side
// for each channel.
type causal[F Float] struct {
	taps, bias    operand[F]
	width, kernel int
}

func (b *Bind[F]) causal(slot, bias string, width, kernel int) (c causal[F], err error) {
	c.width, c.kernel = width, kernel
	if c.taps, err = b.vector(slot, width*kernel); err != nil {
		return c, err
	}
	if bias != "" {
		c.bias, err = b.vector(bias, width)
	}
	return c, err
}

// open returns the convolution with its taps in the order of the kernel.
func (c *causal[F]) open(s *scratch[F]) dense.Conv[F] {
	w := dense.Conv[F]{Width: c.width, Taps: c.kernel, Weights: s.take(c.width * c.kernel), Bias: c.bias.value()}
	turned(w.Weights, c.taps.value(), c.width, c.kernel)
	return w
}

// turned writes the transpose of x [rows, cols].
func turned[F Float](dst, x []F, rows, cols int) {
	for r := range rows {
		for c := range cols {
			dst[c*rows+r] = x[r*cols+c]
		}
	}
}

// forward convolves every document from zeros.
func (c *causal[F]) forward(w *dense.Conv[F], s *scratch[F], y, x []F, lens []int) {
	before := s.zeros((c.kernel - 1) * c.width)
	for _, n := range lens {
		w.Forward(y, c.width, x, c.width, before, n, 0, c.width)
		x, y = x[n*c.width:], y[n*c.width:]
	}
}

// back adds the gradients of x and of the weights.
func (c *causal[F]) back(b *grad.OpaqueBack[F], w *dense.Conv[F], s *scratch[F], dx, x, dy []F, lens []int) {
	var dtaps []F
	g := c.taps.grad(b)
	if g != nil {
		dtaps = s.zeros(len(g))
	}
	for _, n := range lens {
		w.Back(dx[:n*c.width], dtaps, c.bias.grad(b), x, dy, n)
		dx, x, dy = dx[n*c.width:], x[n*c.width:], dy[n*c.width:]
	}
	if g != nil {
		t := s.take(len(g))
		turned(t, dtaps, c.kernel, c.width)
		add(g, t)
	}
}

// A shortConv is a bound gated short convolution: out (C ⊙ conv(B ⊙ u)) of [B | C | u].
type shortConv[F Float] struct {
	m       *Model[F]
	in, reg plan.RegisterRef
	p, out  linear[F]
	conv    causal[F]
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
	c.conv, err = b.causal("conv", "conv_bias", dim, int(p.Kernel))
	return c, err
}

func (c *shortConv[F]) record(s *step[F]) error {
	s.begin(c.in)
	c.p.use(s)
	c.out.use(s)
	s.use(&c.conv.taps)
	s.use(&c.conv.bias)
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
