package network

import (
	"math"
	"testing"
)

// TestAxial compares the axial layout with its formula, written out in complex
// numbers: the axes lie one after another, and pair k of an axis of n dimensions
// is turned by position·base^(−2k/n). A segment that begins elsewhere, or two that
// overlap, keep gradients and lengths right, so that only this tells.
func TestAxial(t *testing.T) {
	for _, c := range []struct {
		dims  int
		parts []int
	}{{24, []int{24}}, {24, []int{12, 12}}, {26, []int{14, 12}}, {24, []int{8, 8, 8}}, {28, []int{10, 10, 8}}} {
		axes := len(c.parts)
		code, err := NewRope(c.dims, axes, Axial)
		if err != nil {
			t.Fatal(err)
		}
		x, y := numbers(c.dims, 3), make([]float64, c.dims)
		pos, bases := []uint64{7, 3, 2}[:axes], []float64{9, 4.5, 4}[:axes]
		if err := ApplyRope(code, y, x, pos, bases); err != nil {
			t.Fatal(err)
		}
		at := 0
		for a, n := range c.parts {
			for k := range n / 2 {
				theta := float64(pos[a]) * math.Pow(math.Exp(bases[a]), -2*float64(k)/float64(n))
				want := complex(x[at], x[at+1]) * complex(math.Cos(theta), math.Sin(theta))
				if math.Hypot(y[at]-real(want), y[at+1]-imag(want)) > 1e-12 {
					t.Errorf("%v: pair %d of axis %d is (%g, %g), want %g", c.parts, k, a, y[at], y[at+1], want)
				}
				at += 2
			}
		}
	}
}
