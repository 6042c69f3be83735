package signal

// This file holds the first-order filters.

import (
	"math"
	"unsafe"

	"atenia/flow/node"
)

// First-order filters carry float64 state whatever F is: poles close to one
// accumulate the rounding of a hundred frames or more, and gradients by the
// pole twice that. A float32 state stores a float64 in the bits of two
// elements, so that no rounding reveals where a stream was cut.

// wide returns the float64 that is stored in two elements of a state.
func wide[F node.Float](s []F) float64 {
	if unsafe.Sizeof(F(0)) == 8 {
		return float64(s[0])
	}
	w := (*[2]uint32)(unsafe.Pointer(unsafe.SliceData(s[:2])))
	return math.Float64frombits(uint64(w[0]) | uint64(w[1])<<32)
}

// setWide stores what wide returns.
func setWide[F node.Float](s []F, v float64) {
	if unsafe.Sizeof(F(0)) == 8 {
		s[0] = F(v)
		return
	}
	b := math.Float64bits(v)
	*(*[2]uint32)(unsafe.Pointer(unsafe.SliceData(s[:2]))) = [2]uint32{uint32(b), uint32(b >> 32)}
}

// A onePole is y[n] = (1-a) x[n] + a y[n-1], a = exp(-2 pi f0/rate).
type onePole[F node.Float] struct {
	turn     float64 // -2 pi / rate
	channels int
}

func newOnePole[F node.Float](cfg node.Config) (node.Instance[F], error) {
	return newRowwise(cfg, &onePole[F]{-2 * math.Pi / cfg.SampleRate, cfg.Node.Rows.C}, 0), nil
}

// States holds the last output.
func (o *onePole[F]) States() int  { return 2 }
func (o *onePole[F]) Scratch() int { return 1 }

func (o *onePole[F]) decay(f0 F) float64 { return math.Exp(o.turn * float64(f0)) }

func (o *onePole[F]) Forward(c *node.Call[F], r int, s []F) {
	f0 := rowValuesOf(c, 0, r, o.channels)
	o.run(c.Out[0].Row(r), c.In[0].Row(r), f0, s)
}

func (o *onePole[F]) run(y, x []F, f0 rowValues[F], s []F) {
	last, a := wide(s), o.decay(f0.Row[0])
	for i, v := range x {
		if f0.Step > 0 {
			a = o.decay(f0.At(i))
		}
		last = float64((1-a)*float64(v)) + float64(a*last)
		y[i] = F(last)
	}
	setWide(s, last)
}

func (o *onePole[F]) Backward(b *node.Back[F], r int, w *RowWork[F]) {
	f0 := rowValuesOf(&b.Call, 0, r, o.channels)
	x, dy := b.In[0].Row(r), b.DOut[0].Row(r)
	y, before := w.T[0][:len(x)], F(wide(w.S))
	o.run(y, x, f0, w.S)
	l, a := wide(w.L), o.decay(f0.Row[0])
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
		l = a * t
	}
	setWide(w.L, l)
}

// A dcBlock is y[n] = x[n] - x[n-1] + r y[n-1].
type dcBlock[F node.Float] struct{ channels int }

func newDCBlock[F node.Float](cfg node.Config) (node.Instance[F], error) {
	return newRowwise(cfg, &dcBlock[F]{cfg.Node.Rows.C}, 0), nil
}

// States holds the last input and output, each in two elements.
func (d *dcBlock[F]) States() int  { return 4 }
func (d *dcBlock[F]) Scratch() int { return 1 }

func (d *dcBlock[F]) Forward(c *node.Call[F], r int, s []F) {
	d.run(c.Out[0].Row(r), c.In[0].Row(r), rowValuesOf(c, 0, r, d.channels), s)
}

func (d *dcBlock[F]) run(y, x []F, p rowValues[F], s []F) {
	lastX, lastY := s[0], wide(s[2:])
	for i, v := range x {
		lastY = float64(v) - float64(lastX) + float64(float64(p.At(i))*lastY)
		lastX = v
		y[i] = F(lastY)
	}
	s[0] = lastX
	setWide(s[2:], lastY)
}

func (d *dcBlock[F]) Backward(b *node.Back[F], r int, w *RowWork[F]) {
	p := rowValuesOf(&b.Call, 0, r, d.channels)
	x, dy := b.In[0].Row(r), b.DOut[0].Row(r)
	y, before := w.T[0][:len(x)], F(wide(w.S[2:]))
	d.run(y, x, p, w.S)
	lx, ly := wide(w.L), wide(w.L[2:])
	for i := len(x) - 1; i >= 0; i-- {
		last := before
		if i > 0 {
			last = y[i-1]
		}
		t := float64(dy[i]) + ly
		w.DX[i] = F(t + lx)
		w.DP[0][i] = F(t * float64(last))
		lx, ly = -t, float64(float64(p.At(i))*t)
	}
	setWide(w.L, lx)
	setWide(w.L[2:], ly)
}
