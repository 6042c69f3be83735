package signal

import (
	"math"

	"atenia/flow/node"
)

var svfKinds = []string{"lowpass", "bandpass", "highpass", "notch", "allpass"}

// An svf is a state-variable filter after Zavalishin, The Art of VA Filter
// Design: integrators by the trapezoidal rule, g = tan(pi f0/rate), k = 1/q.
type svf[F node.Float] struct {
	turn     float64 // pi / rate
	channels int
	// y = x·tap[0] + v1·(tap[1] + k·tapK) + v2·tap[2]
	tap  [3]F
	tapK F
}

func newSVF[F node.Float](cfg node.Config) (node.Instance[F], error) {
	s := &svf[F]{turn: math.Pi / cfg.SampleRate, channels: cfg.Node.Rows.C}
	switch cfg.Settings.Word("kind") {
	case "lowpass":
		s.tap = [3]F{0, 0, 1}
	case "bandpass":
		s.tap = [3]F{0, 1, 0}
	case "highpass":
		s.tap, s.tapK = [3]F{1, 0, -1}, -1
	case "notch":
		s.tap, s.tapK = [3]F{1, 0, 0}, -1
	case "allpass":
		s.tap, s.tapK = [3]F{1, 0, 0}, -2
	}
	return newRowwise(cfg, s, 0), nil
}

func (s *svf[F]) States() int { return 2 }

// A svfDesign is the filter of one frame: a = 1/(1 + g(g+k)), g a, g² a, and
// the weight of v1 in the output. Four numbers stay in registers; more would
// spill.
type svfDesign[F node.Float] struct{ a, ga, gga, mid F }

// bands returns the bandpass and lowpass outputs for x in state s1, s2. In this
// form no product depends on v1, which shortens the critical path.
func (d svfDesign[F]) bands(x, s1, s2 F) (v1, v2 F) {
	v3 := x - s2
	return F(d.a*s1) + F(d.ga*v3), s2 + (F(d.ga*s1) + F(d.gga*v3))
}

func (s *svf[F]) design(f0, q F) (d svfDesign[F], gain, damping F) {
	g, k := math.Tan(s.turn*float64(f0)), 1/float64(q)
	a := 1 / (1 + float64(g*(g+k)))
	return svfDesign[F]{F(a), F(g * a), F(g * g * a), s.tap[1] + F(F(k)*s.tapK)}, F(g), F(k)
}

func (s *svf[F]) Forward(c *node.Call[F], r int, st []F) {
	x, y := c.In[0].Row(r), c.Out[0].Row(r)
	f0, q := rowValuesOf(c, 0, r, s.channels), rowValuesOf(c, 1, r, s.channels)
	moving := f0.Step+q.Step > 0
	s1, s2 := st[0], st[1]
	var d svfDesign[F]
	if !moving {
		d, _, _ = s.design(f0.At(0), q.At(0))
	}
	for i, v := range x {
		if moving {
			d, _, _ = s.design(f0.At(i), q.At(i))
		}
		v1, v2 := d.bands(v, s1, s2)
		y[i] = F(F(s.tap[0]*v)+F(d.mid*v1)) + F(s.tap[2]*v2)
		s1, s2 = F(2*v1)-s1, F(2*v2)-s2
	}
	st[0], st[1] = s1, s2
}

func (s *svf[F]) Scratch() int { return 2 }

func (s *svf[F]) Backward(b *node.Back[F], r int, w *RowWork[F]) {
	x, dy := b.In[0].Row(r), b.DOut[0].Row(r)
	f0, q := rowValuesOf(&b.Call, 0, r, s.channels), rowValuesOf(&b.Call, 1, r, s.channels)
	moving := f0.Step+q.Step > 0
	n := len(x)
	was1, was2 := w.T[0][:n], w.T[1][:n] // the state before each frame
	s1, s2 := w.S[0], w.S[1]
	d, g, k := s.design(f0.At(0), q.At(0))
	for i, v := range x {
		if moving {
			d, g, k = s.design(f0.At(i), q.At(i))
		}
		was1[i], was2[i] = s1, s2
		v1, v2 := d.bands(v, s1, s2)
		s1, s2 = F(2*v1)-s1, F(2*v2)-s2
	}
	l1, l2 := w.L[0], w.L[1]
	for i := n - 1; i >= 0; i-- {
		if moving {
			d, g, k = s.design(f0.At(i), q.At(i))
		}
		v3 := x[i] - was2[i]
		in := was1[i] + F(g*v3)
		v1 := d.a * in
		d2 := F(s.tap[2]*dy[i]) + 2*l2
		d1 := F(d.mid*dy[i]) + F(2*l1) + F(g*d2)
		dIn := d.a * d1
		d3 := g * dIn
		dA := -F(d.a*d.a) * F(d1*in)
		dG := F(d2*v1) + F(dIn*v3) + F(dA*(F(2*g)+k))
		dK := F(dA*g) + F(F(s.tapK*dy[i])*v1)
		w.DX[i] = F(s.tap[0]*dy[i]) + d3
		w.DP[0][i] = dG * F(s.turn) * (1 + F(g*g))
		w.DP[1][i] = -dK * F(k*k)
		l1, l2 = dIn-l1, F(d2-l2)-d3
	}
	w.L[0], w.L[1] = l1, l2
}
