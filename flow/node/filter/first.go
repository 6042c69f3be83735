package filter

// first.go holds the filters of first order.

import (
	"math"

	"atenia/flow/node"
	"atenia/flow/node/rowwise"
)

// The filters of first order keep what they carry from frame to frame as two
// numbers whose sum has about twice the precision: poles near one gather the
// rounding of a hundred frames and more, and gradients by the pole twice that.
// Rounding to the pair in every frame keeps results free of the cuts.

// split returns a number as such a pair, and the sum of the pair.
func split[F node.Float](v float64) (hi, lo F, sum float64) {
	hi = F(v)
	lo = F(v - float64(hi))
	return hi, lo, float64(hi) + float64(lo)
}

// A onePole is y[n] = (1-a) x[n] + a y[n-1], a = exp(-2 pi f0/rate).
type onePole[F node.Float] struct {
	turn     float64 // -2 pi / rate
	channels int
}

func newOnePole[F node.Float](cfg node.Config) (node.Instance[F], error) {
	return rowwise.New(cfg, &onePole[F]{-2 * math.Pi / cfg.SampleRate, cfg.Node.Rows.C}, 0), nil
}

// States: the last output, as a pair.
func (o *onePole[F]) States() int  { return 2 }
func (o *onePole[F]) Scratch() int { return 1 }

func (o *onePole[F]) decay(f0 F) float64 { return math.Exp(o.turn * float64(f0)) }

func (o *onePole[F]) Forward(c *node.Call[F], r int, s []F) {
	f0 := rowwise.Of(c, 0, r, o.channels)
	o.run(c.Out[0].Row(r), c.In[0].Row(r), f0, s)
}

func (o *onePole[F]) run(y, x []F, f0 rowwise.Values[F], s []F) {
	last, a := float64(s[0])+float64(s[1]), o.decay(f0.Row[0])
	for i, v := range x {
		if f0.Step > 0 {
			a = o.decay(f0.At(i))
		}
		s[0], s[1], last = split[F](float64((1-a)*float64(v)) + float64(a*last))
		y[i] = s[0]
	}
}

func (o *onePole[F]) Backward(b *node.Back[F], r int, w *rowwise.Work[F]) {
	f0 := rowwise.Of(&b.Call, 0, r, o.channels)
	x, dy := b.In[0].Row(r), b.DOut[0].Row(r)
	y, before := w.T[0][:len(x)], w.S[0]
	o.run(y, x, f0, w.S)
	l, a := float64(w.L[0])+float64(w.L[1]), o.decay(f0.Row[0])
	for i := len(x) - 1; i >= 0; i-- {
		if f0.Step > 0 {
			a = o.decay(f0.At(i))
		}
		last := before
		if i > 0 {
			last = y[i-1]
		}
		t := float64(dy[i]) + l
		w.DX[i] = F((1 - a) * t)
		w.DP[0][i] = F(t * (float64(last) - float64(x[i])) * a * o.turn)
		w.L[0], w.L[1], l = split[F](a * t)
	}
}

// A dcBlock is y[n] = x[n] - x[n-1] + r y[n-1].
type dcBlock[F node.Float] struct{ channels int }

func newDCBlock[F node.Float](cfg node.Config) (node.Instance[F], error) {
	return rowwise.New(cfg, &dcBlock[F]{cfg.Node.Rows.C}, 0), nil
}

// States: the last input and output; the input's gradient needs a pair as well.
func (d *dcBlock[F]) States() int  { return 4 }
func (d *dcBlock[F]) Scratch() int { return 1 }

func (d *dcBlock[F]) Forward(c *node.Call[F], r int, s []F) {
	d.run(c.Out[0].Row(r), c.In[0].Row(r), rowwise.Of(c, 0, r, d.channels), s)
}

func (d *dcBlock[F]) run(y, x []F, p rowwise.Values[F], s []F) {
	lastX, lastY := s[0], float64(s[2])+float64(s[3])
	for i, v := range x {
		s[2], s[3], lastY = split[F](float64(v) - float64(lastX) + float64(float64(p.At(i))*lastY))
		lastX = v
		y[i] = s[2]
	}
	s[0] = lastX
}

func (d *dcBlock[F]) Backward(b *node.Back[F], r int, w *rowwise.Work[F]) {
	p := rowwise.Of(&b.Call, 0, r, d.channels)
	x, dy := b.In[0].Row(r), b.DOut[0].Row(r)
	y, before := w.T[0][:len(x)], w.S[2]
	d.run(y, x, p, w.S)
	lx, ly := float64(w.L[0])+float64(w.L[1]), float64(w.L[2])+float64(w.L[3])
	for i := len(x) - 1; i >= 0; i-- {
		last := before
		if i > 0 {
			last = y[i-1]
		}
		t := float64(dy[i]) + ly
		w.DX[i] = F(t + lx)
		w.DP[0][i] = F(t * float64(last))
		w.L[0], w.L[1], lx = split[F](-t)
		w.L[2], w.L[3], ly = split[F](float64(p.At(i)) * t)
	}
}
