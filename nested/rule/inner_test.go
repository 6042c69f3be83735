package rule

import (
	"math"
	"testing"

	"atenia/internal/kernel/dense"
)

// An innerLoss is the loss that one write descends, as a function of the state
// before it; it follows the definition, not the rule's code.
type innerLoss func(l *Layout, s []float64, in *Tokens[float64]) float64

// testInner: one write with alpha = 0 and theta = 1 moves the state by minus
// the gradient of the stated inner loss.
func testInner(t *testing.T) {
	const d = 4
	half := func(f func(c Config, e float64) float64) innerLoss {
		return func(l *Layout, s []float64, in *Tokens[float64]) float64 {
			total := 0.0
			for i, o := range answerMLP(l, s, in.K) {
				total += f(l.Config, o-in.V[i])
			}
			return total
		}
	}
	square := func(_ Config, e float64) float64 { return e * e / 2 }
	lp := func(c Config, e float64) float64 { return math.Pow(e*e+c.LpEps, c.P/2) }
	hub := func(c Config, e float64) float64 {
		if math.Abs(e) < c.Delta {
			return e * e / 2
		}
		return c.Delta * (math.Abs(e) - c.Delta/2)
	}
	linear := func(l *Layout, s []float64, in *Tokens[float64]) float64 {
		total := 0.0
		for i := range d {
			e := dense.Dot(s[i*d:][:d], in.K) - in.V[i]
			total += e * e / 2
		}
		return total
	}
	cases := []struct {
		v    variant
		loss innerLoss
	}{
		{variant{Delta, Config{}}, linear},
		{variant{Titans, Config{}}, linear},
		{variant{Hebbian, Config{}}, func(l *Layout, s []float64, in *Tokens[float64]) float64 {
			total := 0.0
			for i := range d {
				total -= in.V[i] * dense.Dot(s[i*d:][:d], in.K)
			}
			return total
		}},
		{variant{Moneta, Config{Hidden: 5, Q: 2, LpClip: 1e9}}, half(lp)},
		{variant{Moneta, Config{Hidden: 5, Q: 2, LpClip: 1e9, Form: LnRes}}, half(lp)},
		{variant{YAAD, Config{Hidden: 5, Delta: 0.5}}, half(hub)},
		{variant{YAAD, Config{Hidden: 5, Delta: 0.5, Form: LnRes}}, half(hub)},
		{variant{MEMORA, Config{Hidden: 5}}, half(square)},
		{variant{Lattice, Config{Slots: 3}}, latticeLoss},
		{variant{Trellis, Config{Slots: 3}}, trellisLoss},
		{variant{Atlas, Config{Window: 3, NoNS: true}}, omegaLoss},
		{variant{Atlas, Config{Window: 2, NoNS: true, Feature: Poly2}}, omegaLoss},
	}
	for i, k := range cases {
		c := newCore(t, k.v, d, 1, uint64(70+i))
		c.in.Gate = [gates][]float64{{0}, {1}, {0}, {0.8}}
		c.warm()
		_, sT := c.run()
		checkInner(t, k.v, c, sT, k.loss)
	}
}

// warm makes every part of the state random, as its rule allows.
func (c *core) warm() {
	r := NewRand(99)
	switch c.b.Rule {
	case MEMORA, Lattice:
		c.b.InitState(c.s, r)
	default:
		Uniform(r, c.s, 0.8)
	}
}

// checkInner compares the move of the state with central differences of the
// loss. MEMORA moves up to a constant per row, Lattice's slots end normalised.
func checkInner(t *testing.T, v variant, c *core, sT []float64, loss innerLoss) {
	t.Helper()
	l := c.b.Layout
	parts := l.State
	if v.name == Titans || v.name == Atlas {
		parts = parts[:1] // the momentum and the window are no weights
	}
	for _, a := range parts {
		width := a.Shape[1]
		for i := range a.Shape[0] {
			off := 0.0
			for j := range width {
				at := a.At + i*width + j
				grad := difference(c, at, loss)
				move := c.s[at] - sT[at]
				switch v.name {
				case MEMORA:
					// weights are m exp(L): the rule descends in W
					mass := []float64{l.Config.Mass1, l.Config.Mass2}[min(1, a.At)]
					grad /= mass * math.Exp(c.s[at])
					if j == 0 {
						off = move - grad
					}
					move -= off
				case Lattice:
					row := a.At + i*width
					along := dense.Dot(sT[row:][:width], c.s[row:][:width])
					move = c.s[at] - sT[at]/along
				}
				if math.Abs(move-grad) > 1e-7*max(1, math.Abs(grad)) {
					t.Errorf("%v: %s[%d,%d] moves by %g, the gradient is %g", v, a.Name, i, j, move, grad)
				}
			}
		}
	}
}

func difference(c *core, at int, loss innerLoss) float64 {
	const eps = 1e-5
	was := c.s[at]
	c.s[at] = was + eps
	up := loss(c.b.Layout, c.s, &c.in)
	c.s[at] = was - eps
	down := loss(c.b.Layout, c.s, &c.in)
	c.s[at] = was
	return (up - down) / (2 * eps)
}

// answerMLP is f(x) from its definition.
func answerMLP(l *Layout, s, x []float64) []float64 {
	d, h := l.D, l.Config.Hidden
	w1, w2 := s[:h*d], s[h*d:]
	if l.Rule == MEMORA {
		w1, w2 = weightsOf(w1, l.Config.Mass1), weightsOf(w2, l.Config.Mass2)
	}
	o := make([]float64, d)
	for j := range h {
		a := dense.Dot(w1[j*d:][:d], x)
		for i := range o {
			o[i] += w2[i*h+j] * a / (1 + math.Exp(-a)) / math.Sqrt(float64(h))
		}
	}
	if l.Config.Form == Plain {
		return o
	}
	mean, v := 0.0, 0.0
	for _, y := range o {
		mean += y / float64(d)
	}
	for _, y := range o {
		v += (y - mean) * (y - mean) / float64(d)
	}
	for i, y := range o {
		o[i] = x[i] + (y-mean)/math.Sqrt(v+l.Config.LnEps)
	}
	return o
}

func weightsOf(l []float64, mass float64) []float64 {
	w := make([]float64, len(l))
	for i, v := range l {
		w[i] = mass * math.Exp(v)
	}
	return w
}

// latticeLoss is |v - phi(S)^T k|^2 / 2, rows of phi(S) normalised.
func latticeLoss(l *Layout, s []float64, in *Tokens[float64]) float64 {
	r := append([]float64(nil), in.V...)
	for i, k := range in.K {
		row := s[i*l.D:][:l.D]
		dense.Axpy(r, -k/dense.Norm(row), row)
	}
	return dense.Dot(r, r) / 2
}

// trellisLoss is |phi(M w) - c|^2 / 2 of both memories.
func trellisLoss(l *Layout, s []float64, in *Tokens[float64]) float64 {
	m, d, total := l.Config.Slots, l.D, 0.0
	for pass, w := range [][]float64{in.K, in.V} {
		z, n := make([]float64, m), l.Config.NsiluEps*l.Config.NsiluEps
		for i := range z {
			a := dense.Dot(s[(pass*m+i)*d:][:d], w)
			z[i] = a / (1 + math.Exp(-a))
			n += z[i] * z[i]
		}
		for i, v := range z {
			e := v/math.Sqrt(n) - in.Code[i]
			total += e * e / 2
		}
	}
	return total
}

// omegaLoss is the weighted error over the window.
func omegaLoss(l *Layout, s []float64, in *Tokens[float64]) float64 {
	d, f, c := l.D, featureDim(l.D, l.Config.Feature), l.Config.Window
	total := 0.0
	for j := range c {
		phi, v, g := make([]float64, f), in.V, in.Gate[Gamma][0]
		if j < c-1 {
			phi = State(l, s, "BK")[j*f:][:f]
			v, g = State(l, s, "BV")[j*d:][:d], State(l, s, "BG")[j]
		} else {
			feature(phi, in.K)
		}
		for i := range d {
			e := dense.Dot(s[i*f:][:f], phi) - v[i]
			total += g / float64(c) * e * e / 2
		}
	}
	return total
}
