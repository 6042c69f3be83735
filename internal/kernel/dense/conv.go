// Causal depthwise convolutions, whose first rows see rows of an earlier call.

package dense

// A Conv is a causal convolution of each of Width channels with its own taps:
//
//	y_t = bias + Σ_j taps_j ⊙ x_(t−Taps+1+j)
//
// Rows before the first are those of the state before [Taps−1, Width], zero at the
// beginning of a sequence. A row's additions are in the order of j, however rows are
// divided into calls.
type Conv[F Float] struct {
	Width, Taps int
	Weights     []F // [Taps, Width]
	Bias        []F // [Width]; nil = none
}

// Forward writes channels [lo, hi) of rows of the convolution. Rows of x are xs
// apart, those of y ys apart, and neither may overlap the other.
func (c *Conv[F]) Forward(y []F, ys int, x []F, xs int, before []F, rows, lo, hi int) {
	for t := range rows {
		dst := y[t*ys+lo : t*ys+hi]
		if c.Bias != nil {
			copy(dst, c.Bias[lo:hi])
		} else {
			clear(dst)
		}
		for j := range c.Taps {
			AddMul(dst, c.Weights[j*c.Width+lo:j*c.Width+hi], c.row(x, xs, before, t-c.Taps+1+j)[lo:hi])
		}
	}
}

// row returns row t of x, or of the rows before it.
func (c *Conv[F]) row(x []F, xs int, before []F, t int) []F {
	if t < 0 {
		return before[(t+c.Taps-1)*c.Width:][:c.Width]
	}
	return x[t*xs:][:c.Width]
}

// Keep replaces channels [lo, hi) of the state by the last rows of x.
func (c *Conv[F]) Keep(before, x []F, xs, rows, lo, hi int) {
	for j := range c.Taps - 1 {
		from := c.row(x, xs, before, rows-c.Taps+1+j)
		copy(before[j*c.Width+lo:j*c.Width+hi], from[lo:hi])
	}
}

// Back adds the gradients of a whole sequence, which has zeros before it: of x to
// dx, of the taps to dweights and of the bias to dbias, each of which may be nil.
func (c *Conv[F]) Back(dx, dweights, dbias, x, dy []F, rows int) {
	for t := range rows {
		d := dy[t*c.Width:][:c.Width]
		if dbias != nil {
			Add(dbias, d)
		}
		for j := range c.Taps {
			s := t - c.Taps + 1 + j
			if s < 0 {
				continue
			}
			w := c.Weights[j*c.Width:][:c.Width]
			if dx != nil {
				AddMul(dx[s*c.Width:][:c.Width], w, d)
			}
			if dweights != nil {
				AddMul(dweights[j*c.Width:][:c.Width], x[s*c.Width:][:c.Width], d)
			}
		}
	}
}
