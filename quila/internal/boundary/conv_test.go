package boundary

import (
	"fmt"
	"math"
	"testing"

	"atenia/grad"
	"atenia/quila/internal/weights"
)

func numbers(n int, tick uint64) []float64 {
	x := make([]float64, n)
	weights.Stream{Seed: 3, Tick: tick}.Normal(x)
	return x
}

// slowConv is a convolution by its definition.
func slowConv(c *conv, x, w, b []float64, batch, side int) []float64 {
	n := c.size(side)
	y := make([]float64, batch*n*n*c.out)
	for i := range batch {
		for o := range n * n {
			for to := range c.out {
				sum := b[to]
				for ky := range c.kernel {
					for kx := range c.kernel {
						iy, ix := o/n*c.stride-c.pad+ky, o%n*c.stride-c.pad+kx
						if iy < 0 || ix < 0 || iy >= side*c.up || ix >= side*c.up {
							continue
						}
						for from := range c.in {
							sum += w[to*c.columns()+(ky*c.kernel+kx)*c.in+from] * x[((i*side+iy/c.up)*side+ix/c.up)*c.in+from]
						}
					}
				}
				y[(i*n*n+o)*c.out+to] = sum
			}
		}
	}
	return y
}

// TestConv compares every kind of convolution with its definition, and its
// gradients with central differences.
func TestConv(t *testing.T) {
	for _, c := range []*conv{{in: 3, out: 4, kernel: 3, stride: 1, pad: 1, up: 1}, {in: 2, out: 3, kernel: 4, stride: 2, pad: 1, up: 1},
		{in: 2, out: 3, kernel: 3, stride: 1, pad: 1, up: 2}, {in: 4, out: 2, kernel: 1, stride: 1, up: 1}, {in: 1, out: 2, kernel: 4, stride: 1, pad: 2, up: 1}} {
		const batch, side = 3, 6
		x, w, b := numbers(batch*side*side*c.in, 1), numbers(c.out*c.columns(), 2), numbers(c.out, 3)
		want := slowConv(c, x, w, b, batch, side)
		g := numbers(len(want), 4)
		e := newEngine[float64]()
		tape := grad.New(&e.registry, grad.CheckImmutable())
		rx, rw, rb := tape.Input(x, batch*side*side, c.in), tape.Param(w, c.out, c.columns()), tape.Param(b, c.out)
		y := e.record(tape, c, rx, rw, rb, batch, side)
		name := fmt.Sprintf("kernel %d, stride %d, up %d", c.kernel, c.stride, c.up)
		for i, v := range tape.Value(y) {
			if math.Abs(v-want[i]) > 1e-12*10 {
				t.Fatalf("%s: y[%d] is %v, want %v", name, i, v, want[i])
			}
		}
		if err := tape.BackwardFrom(y, g); err != nil {
			t.Fatal(err)
		}
		loss := func() (sum float64) {
			for i, v := range slowConv(c, x, w, b, batch, side) {
				sum += v * g[i]
			}
			return sum
		}
		for what, p := range map[string]struct {
			v   []float64
			ref grad.Ref
		}{"x": {x, rx}, "w": {w, rw}, "bias": {b, rb}} {
			d, ok := tape.Grad(p.ref)
			if !ok {
				t.Fatalf("%s: no gradient of %s", name, what)
			}
			for i := 0; i < len(p.v); i += 1 + len(p.v)/40 {
				const h = 1e-5
				old := p.v[i]
				p.v[i] = old + h
				up := loss()
				p.v[i] = old - h
				want := (up - loss()) / (2 * h)
				p.v[i] = old
				if math.Abs(d[i]-want) > 1e-6*math.Max(1, math.Abs(want)) {
					t.Errorf("%s: gradient %s[%d] is %v, want %v", name, what, i, d[i], want)
				}
			}
		}
	}
}

// BenchmarkConv measures the widest convolution of the decoder, both ways.
func BenchmarkConv(b *testing.B) {
	c := &conv{in: 64, out: 32, kernel: 3, stride: 1, pad: 1, up: 2}
	const batch, side = 8, 16
	e := newEngine[float32]()
	tape := grad.New(&e.registry)
	x, w, bias := make([]float32, batch*side*side*c.in), make([]float32, c.out*c.columns()), make([]float32, c.out)
	g := make([]float32, batch*4*side*side*c.out)
	for b.Loop() {
		tape.Reset()
		y := e.record(tape, c, tape.Input(x, batch*side*side, c.in), tape.Param(w, c.out, c.columns()), tape.Param(bias, c.out), batch, side)
		if err := tape.BackwardFrom(y, g); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(3*2*float64(len(g)*c.columns())*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}
