package tape

import (
	"atenia/grad"
	"atenia/internal/kernel/dense"
)

// A conv is the weights of a causal depthwise convolution, whose taps files have side
// by side for each channel.
type conv[F Float] struct {
	weight, bias operand[F] // [width, taps], [width]
	width, taps  int
}

// conv reads the weights in two slots; "" = the op has no bias.
func (b *Bind[F]) conv(slot, bias string, width, taps int) (c conv[F], err error) {
	c.width, c.taps = width, taps
	if c.weight, err = b.vector(slot, width*taps); err != nil {
		return c, err
	}
	if bias != "" {
		c.bias, err = b.vector(bias, width)
	}
	return c, err
}

func (c *conv[F]) use(s *step[F]) {
	s.use(&c.weight)
	s.use(&c.bias)
}

// open returns the convolution with its taps in the order that it reads them.
func (c *conv[F]) open(s *scratch[F]) dense.Conv[F] {
	w := dense.Conv[F]{Width: c.width, Taps: c.taps, Weights: s.take(c.width * c.taps), Bias: c.bias.value()}
	turned(w.Weights, c.weight.value(), c.width, c.taps)
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

// forward convolves the rows of every document from zeros.
func (c *conv[F]) forward(w *dense.Conv[F], s *scratch[F], y, x []F, lens []int) {
	before := s.zeros((c.taps - 1) * c.width)
	for _, n := range lens {
		w.Forward(y, c.width, x, c.width, before, n, 0, c.width)
		x, y = x[n*c.width:], y[n*c.width:]
	}
}

// back adds the gradient of the inputs to dx, and those of the weights.
func (c *conv[F]) back(b *grad.OpaqueBack[F], w *dense.Conv[F], s *scratch[F], dx, x, dy []F, lens []int) {
	var dtaps []F
	g := c.weight.grad(b)
	if g != nil {
		dtaps = s.zeros(len(g))
	}
	for _, n := range lens {
		w.Back(dx[:n*c.width], dtaps, c.bias.grad(b), x, dy, n)
		dx, x, dy = dx[n*c.width:], x[n*c.width:], dy[n*c.width:]
	}
	if g != nil {
		t := s.take(len(g))
		turned(t, dtaps, c.taps, c.width)
		add(g, t)
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
