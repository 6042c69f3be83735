package conform

import (
	"math"

	"atenia/quila/config"
	"atenia/quila/internal/neuron"
	"atenia/quila/internal/weights"
)

func convolutionIdentity(t *report) {
	const h = 16
	b, k, out := single(initNormals(h*h, 1)), make([]float32, 64), make([]float32, h*h)
	k[3*8+3] = 1
	neuron.Convolve(out, b, k, h)
	if gap(out, b) != 0 {
		t.Errorf("B' is not B, by %g", gap(out, b))
	}
}

func convolutionNaive(t *report) {
	const h = 16
	b, k := initNormals(h*h, 1), initNormals(64, 2)
	want := make([]float64, h*h)
	for i := range h {
		for j := range h {
			for p := range 8 {
				for q := range 8 {
					if y, x := i-p+3, j-q+3; y >= 0 && x >= 0 && y < h && x < h {
						want[i*h+j] += k[p*8+q] * b[y*h+x]
					}
				}
			}
		}
	}
	got := make([]float64, h*h)
	neuron.Convolve(got, b, k, h)
	t.Within("the difference in float64", gap(got, want), 1e-12)
	got32 := make([]float32, h*h)
	neuron.Convolve(got32, single(b), single(k), h)
	e := gap(got32, want) / largest(want)
	t.Within("the difference in float32", e, 1e-6)
	t.Figure("%.1e in float32", e)
}

// denseOf is the D×H² matrix of a neuron's W_in.
func denseOf(c *config.Config, w *weights.Set[float64], n int) []float64 {
	l, r := w.Rows("n.w_in.l", n), w.Rows("n.w_in.r", n)
	m := make([]float64, c.D*c.H*c.H)
	for q := range c.R {
		for i := range c.D1 {
			for k := range c.D2 {
				for y := range c.H {
					for x := range c.H {
						m[(i*c.D2+k)*c.H*c.H+y*c.H+x] += l[(q*c.D1+i)*c.H+y] * r[(q*c.D2+k)*c.H+x]
					}
				}
			}
		}
	}
	return m
}

func kronecker(t *report) {
	c, err := config.Profile("nano")
	t.Must(err)
	w := weights.To[float64](weights.Init(&c, 24, 3))
	b := initNormals(c.H*c.H, 4)
	want := make([]float64, c.D)
	for i, x := range denseOf(&c, w, 2) {
		want[i/(c.H*c.H)] += x * b[i%(c.H*c.H)]
	}
	got := make([]float32, c.D)
	neuron.Kronecker(got, single(b), single(w.Rows("n.w_in.l", 2)), single(w.Rows("n.w_in.r", 2)), make([]float32, c.D1*c.H), c.H, c.D1, c.D2)
	e := gap(got, want) / largest(want)
	t.Within("the difference from the dense matrix", e, 1e-5)
	size := len(w.Rows("n.w_in.l", 0)) + len(w.Rows("n.w_in.r", 0))
	if formula := c.R * (c.D1 + c.D2) * c.H; size != formula || c.Count().WIn != int64(formula) {
		t.Errorf("W_in has %d weights and is counted %d, want r·(d1+d2)·H = %d", size, c.Count().WIn, formula)
	}
	t.Figure("%.1e, %d weights instead of %d", e, size, c.D*c.H*c.H)
}

func edges(t *report) {
	var worst float64
	for _, change := range []func(c *config.Config){
		nil,
		func(c *config.Config) { c.Kappa = 4 },
		func(c *config.Config) { c.D, c.D1, c.D2, c.A, c.H, c.G = 24, 4, 6, 6, 12, 8 }, // 24 < 36: h is repeated
		func(c *config.Config) { c.A, c.S, c.H, c.Kappa = 3, 2, 6, 2 },                 // 16 > 9: h is folded
	} {
		s := tiny(t, 1, change)
		c := &s.c
		w := weights.To[float32](s.w)
		g := neuron.New[float32](c, s.graph, nil)
		g.Bind(w)
		for e := range s.graph.Edges() {
			h := single(initNormals(c.D, uint64(60+e)))
			payload := make([]float32, c.H*c.H)
			neuron.Payload(payload, make([]float32, c.A*c.A), h, w.Rows("edge.w_out", e), w.Rows("edge.kernel", e), neuron.ShapeOf(c))
			board := neuron.NewBoard[float32](c)
			board.Add(payload, s.graph.Pos[e], 0)
			mean, expanded, want := make([]float32, c.H*c.H), make([]float32, c.H*c.H), make([]float32, c.D)
			board.Mean(mean)
			n := int(s.graph.Dst[e])
			neuron.Convolve(expanded, mean, w.Rows("n.k_in", n), c.H)
			neuron.Kronecker(want, expanded, w.Rows("n.w_in.l", n), w.Rows("n.w_in.r", n), make([]float32, c.D1*c.H), c.H, c.D1, c.D2)
			got := make([]float64, c.D)
			for i, x := range g.EdgeMap(e) {
				got[i/c.D] += float64(x) * float64(h[i%c.D])
			}
			worst = math.Max(worst, gap(got, want)/largest(want))
		}
	}
	t.Within("the difference in float32", worst, 1e-5)
	t.Figure("%.1e over four shapes", worst)
}

func residual(t *report) {
	s := tiny(t, 1, func(c *config.Config) { c.RhoOn, c.NormIn = true, false })
	c := &s.c
	area := c.H * c.H
	with, plain := make([]float64, c.N*c.D), make([]float64, c.N*c.D) // h_in of both ways
	for n := range c.N {
		w, b := denseOf(c, s.w, n), initNormals(area, uint64(n))
		rho := 1 / (1 + math.Exp(-s.w.Of("n.rho")[n]))
		moved := append([]float64(nil), b...)
		// W⁺·ρ·residual = Wᵀ·(W·Wᵀ)⁻¹·ρ·residual
		gram := make([]float64, c.D*c.D)
		x := make([]float64, c.D)
		for i := range c.D {
			x[i] = rho * s.state.Residual[n*c.D+i]
			for j := range c.D {
				for k := range area {
					gram[i*c.D+j] += w[i*area+k] * w[j*area+k]
				}
			}
		}
		solve(gram, x, c.D)
		for i := range c.D {
			for k := range area {
				moved[k] += w[i*area+k] * x[i]
			}
		}
		for i := range c.D {
			for k := range area {
				plain[n*c.D+i] += w[i*area+k] * b[k]
				with[n*c.D+i] += w[i*area+k] * moved[k]
			}
		}
	}
	s.hIn = plain
	_, after := s.step(nil)
	s.hIn = with
	clear(s.state.Residual)
	_, before := s.step(nil)
	e := gap(after.Values["h"], before.Values["h"]) / largest(after.Values["h"])
	t.Within("the difference", e, 1e-4)
	t.Figure("%.1e", e)
}

// solve replaces x by a⁻¹·x, by elimination with pivots.
func solve(a, x []float64, n int) {
	for col := range n {
		pivot := col
		for r := col + 1; r < n; r++ {
			if math.Abs(a[r*n+col]) > math.Abs(a[pivot*n+col]) {
				pivot = r
			}
		}
		for k := range n {
			a[col*n+k], a[pivot*n+k] = a[pivot*n+k], a[col*n+k]
		}
		x[col], x[pivot] = x[pivot], x[col]
		for r := range n {
			if r == col {
				continue
			}
			f := a[r*n+col] / a[col*n+col]
			for k := col; k < n; k++ {
				a[r*n+k] -= f * a[col*n+k]
			}
			x[r] -= f * x[col]
		}
	}
	for i := range x {
		x[i] /= a[i*n+i]
	}
}

func receptive(t *report) {
	s := tiny(t, 2, func(c *config.Config) { c.NormIn = false })
	d := s.c.D
	field := s.w.Of("s4.receptive")
	for i := range field {
		if i%5 == 3 {
			field[i] = 0
		}
	}
	_, seen := s.step(nil)
	for i, x := range seen.Values["h"] {
		n := i / (2 * d)
		if field[n*d+i%d] == 0 && x != 0 {
			t.Fatalf("dimension %d of neuron %d is %v", i%d, n, x)
		}
	}
	grads := s.window(t, 3, neuron.Options[float64]{})
	masked, live := 0., 0.
	for i, x := range grads["n.b_in"] {
		if field[i] == 0 {
			masked = math.Max(masked, math.Abs(x))
		} else {
			live = math.Max(live, math.Abs(x))
		}
	}
	if masked != 0 || live == 0 {
		t.Errorf("gradients reach %g outside the field, %g inside", masked, live)
	}
}
