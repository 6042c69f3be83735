package tape

import (
	"atenia/grad"
	"atenia/internal/kernel/dense"
)

// A conv is a bound causal depthwise convolution with the activation after it.
type conv[F Float] struct {
	weight, bias operand[F] // [channels, taps], [channels]
	width, taps  int
	kernel       dense.Conv[F] // with the taps of the step that is computed
}

// conv reads the weights "conv" and "conv_bias".
func (b *Bind[F]) conv(width, taps int) (c conv[F], err error) {
	c.width, c.taps = width, taps
	if c.weight, err = b.vector("conv", width*taps); err != nil {
		return c, err
	}
	c.bias, err = b.vector("conv_bias", width)
	return c, err
}

func (c *conv[F]) use(s *step[F]) {
	s.use(&c.weight)
	s.use(&c.bias)
}

// turn returns the convolution with its taps in the order that it reads them.
func (c *conv[F]) turn(s *scratch[F]) *dense.Conv[F] {
	c.kernel = dense.Conv[F]{Width: c.width, Taps: c.taps, Weights: s.take(c.width * c.taps), Bias: c.bias.value()}
	for i, v := range c.weight.value() {
		c.kernel.Weights[i%c.taps*c.width+i/c.taps] = v
	}
	return &c.kernel
}

// forward writes the rows of documents before the activation.
func (c *conv[F]) forward(s *scratch[F], lens []int, dst, x []F) {
	k, before := c.turn(s), s.zeros((c.taps-1)*c.width)
	at := 0
	for _, n := range lens {
		k.Forward(dst[at:], c.width, x[at:], c.width, before, n, 0, c.width)
		at += n * c.width
	}
}

// back adds the gradient of the inputs to dx, and those of the weights.
func (c *conv[F]) back(b *grad.OpaqueBack[F], s *scratch[F], lens []int, dx, x, dy []F) {
	k := c.turn(s)
	var dweights []F
	g := c.weight.grad(b)
	if g != nil {
		dweights = s.zeros(len(g))
	}
	at := 0
	for _, n := range lens {
		k.Back(dx[at:], dweights, c.bias.grad(b), x[at:], dy[at:], n)
		at += n * c.width
	}
	for i, v := range dweights {
		g[i%c.width*c.taps+i/c.width] += v
	}
}

// columns copies columns [from, from+n) of rows of width wide.
func columns[F Float](dst, src []F, rows, wide, from, n int) []F {
	for r := range rows {
		copy(dst[r*n:(r+1)*n], src[r*wide+from:])
	}
	return dst
}

// addColumns adds rows of n columns to columns from on of rows of width wide.
func addColumns[F Float](dst, src []F, rows, wide, from, n int) {
	for r := range rows {
		add(dst[r*wide+from:][:n], src[r*n:(r+1)*n])
	}
}
