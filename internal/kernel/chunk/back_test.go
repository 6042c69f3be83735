package chunk

import (
	"math"
	"testing"
)

// The gradients of every input agree with central differences in float64.
func TestGradients(t *testing.T) {
	const n, kd, vd, h = 70, 5, 4, 1e-6
	d := draw[float64](9, n, kd, vd)
	x := &Sequence[float64]{Tokens: n, K: d.k, Q: d.q, V: d.v, G: d.g, Beta: d.beta}
	weights := draw[float64](10, n, kd, vd).v
	w := NewDelta[float64](kd, vd)
	y := make([]float64, n*vd)
	loss := func() float64 {
		w.Forward(y, nil, x)
		sum := 0.0
		for i, v := range y {
			sum += v * weights[i]
		}
		return sum
	}
	states := make([]float64, w.StatesLen(n))
	w.Forward(y, states, x)
	g := &Sequence[float64]{K: make([]float64, n*kd), Q: make([]float64, n*kd), V: make([]float64, n*vd), G: make([]float64, n), Beta: make([]float64, n)}
	w.Back(g, x, weights, states)
	for _, c := range []struct {
		name   string
		at, by []float64
	}{{"k", x.K, g.K}, {"q", x.Q, g.Q}, {"v", x.V, g.V}, {"g", x.G, g.G}, {"beta", x.Beta, g.Beta}} {
		for i := range c.at {
			old := c.at[i]
			c.at[i] = old + h
			up := loss()
			c.at[i] = old - h
			down := loss()
			c.at[i] = old
			if want := (up - down) / (2 * h); math.Abs(want-c.by[i]) > 1e-6*(1+math.Abs(want)) {
				t.Errorf("%s[%d]: got %g, differences say %g", c.name, i, c.by[i], want)
				break
			}
		}
	}
}
