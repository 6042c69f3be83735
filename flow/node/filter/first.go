package filter

// first.go holds the filters of first order.

import (
	"math"

	"atenia/flow/node"
	"atenia/flow/node/rowwise"
)

// A onePole is y[n] = (1-a) x[n] + a y[n-1], a = exp(-2 pi f0/rate).
type onePole[F node.Float] struct {
	turn     float64 // -2 pi / rate
	channels int
}

func newOnePole[F node.Float](cfg node.Config) (node.Instance[F], error) {
	return rowwise.New(cfg, &onePole[F]{-2 * math.Pi / cfg.SampleRate, cfg.Node.Rows.C}, 0), nil
}

func (o *onePole[F]) States() int  { return 1 }
func (o *onePole[F]) Scratch() int { return 1 }

func (o *onePole[F]) decay(f0 F) F { return F(math.Exp(o.turn * float64(f0))) }

func (o *onePole[F]) Forward(c *node.Call[F], r int, s []F) {
	f0 := rowwise.Of(c, 0, r, o.channels)
	o.run(c.Out[0].Row(r), c.In[0].Row(r), f0, s)
}

func (o *onePole[F]) run(y, x []F, f0 rowwise.Values[F], s []F) {
	last, a := s[0], o.decay(f0.Row[0])
	for i, v := range x {
		if f0.Step > 0 {
			a = o.decay(f0.At(i))
		}
		last = F((1-a)*v) + F(a*last)
		y[i] = last
	}
	s[0] = last
}

func (o *onePole[F]) Backward(b *node.Back[F], r int, w *rowwise.Work[F]) {
	f0 := rowwise.Of(&b.Call, 0, r, o.channels)
	x, dy := b.In[0].Row(r), b.DOut[0].Row(r)
	y, before := w.T[0][:len(x)], w.S[0]
	o.run(y, x, f0, w.S)
	l, a := w.L[0], o.decay(f0.Row[0])
	for i := len(x) - 1; i >= 0; i-- {
		if f0.Step > 0 {
			a = o.decay(f0.At(i))
		}
		last := before
		if i > 0 {
			last = y[i-1]
		}
		t := dy[i] + l
		w.DX[i] = (1 - a) * t
		w.DP[0][i] = F(t*(last-x[i])) * a * F(o.turn)
		l = a * t
	}
	w.L[0] = l
}

// A dcBlock is y[n] = x[n] - x[n-1] + r y[n-1].
type dcBlock[F node.Float] struct{ channels int }

func newDCBlock[F node.Float](cfg node.Config) (node.Instance[F], error) {
	return rowwise.New(cfg, &dcBlock[F]{cfg.Node.Rows.C}, 0), nil
}

func (d *dcBlock[F]) States() int  { return 2 }
func (d *dcBlock[F]) Scratch() int { return 1 }

func (d *dcBlock[F]) Forward(c *node.Call[F], r int, s []F) {
	d.run(c.Out[0].Row(r), c.In[0].Row(r), rowwise.Of(c, 0, r, d.channels), s)
}

func (d *dcBlock[F]) run(y, x []F, p rowwise.Values[F], s []F) {
	lastX, lastY := s[0], s[1]
	for i, v := range x {
		lastY = F(v-lastX) + F(p.At(i)*lastY)
		lastX = v
		y[i] = lastY
	}
	s[0], s[1] = lastX, lastY
}

func (d *dcBlock[F]) Backward(b *node.Back[F], r int, w *rowwise.Work[F]) {
	p := rowwise.Of(&b.Call, 0, r, d.channels)
	x, dy := b.In[0].Row(r), b.DOut[0].Row(r)
	y, before := w.T[0][:len(x)], w.S[1]
	d.run(y, x, p, w.S)
	lx, ly := w.L[0], w.L[1]
	for i := len(x) - 1; i >= 0; i-- {
		last := before
		if i > 0 {
			last = y[i-1]
		}
		t := dy[i] + ly
		w.DX[i] = t + lx
		w.DP[0][i] = t * last
		lx, ly = -t, p.At(i)*t
	}
	w.L[0], w.L[1] = lx, ly
}
