package rule

import (
	"fmt"
	"testing"
	"time"

	"atenia/grad"
)

// forwardOps is how many multiply-adds the definitions' forward pass of a
// chunk has: projections, and the rule's passes over its matrices.
func forwardOps(l *Layout, tokens int) float64 {
	d, h, m, c := float64(l.D), float64(l.Config.Hidden), float64(l.Config.Slots), l.Config
	f := float64(featureDim(l.D, c.Feature))
	per := map[Name]float64{
		Delta: 3 * d * d, Titans: 4 * d * d, Hebbian: 2 * d * d, // M k, the writes, M q
		Moneta: 7 * d * h, YAAD: 7 * d * h, MEMORA: 7 * d * h, // W1 k, W2 h, W2^T go, two writes, the read's two
		Lattice: 4 * m * d, Trellis: 6 * m * d,
		Atlas: (2*float64(c.Window)+3)*d*f + float64(c.NSIters)*(2*d*d*f+d*d*d),
	}[l.Rule]
	return float64(tokens) * (per + d*float64(l.rows()))
}

// gemmRate is how many multiply-adds a second a large product reaches on one
// thread, the best of some.
func gemmRate() float64 {
	const n = 256
	w := grad.NewWork[float32](nil)
	a, b, c := make([]float32, n*n), make([]float32, n*n), make([]float32, n*n)
	Uniform(NewRand(1), a, 1)
	Uniform(NewRand(2), b, 1)
	best := time.Hour
	for range 10 {
		start := time.Now()
		w.MulT(c, a, b, n, n, n)
		best = min(best, time.Since(start))
	}
	return n * n * n / best.Seconds()
}

// BenchmarkChunk times a chunk of 64 tokens forward and with its adjoint, on
// one thread. "x-forward" is the time over that of the forward arithmetic at
// the rate of a large product.
func BenchmarkChunk(b *testing.B) {
	const tokens = 64
	rate := gemmRate()
	for _, d := range []int{64, 128} {
		for _, v := range []variant{{Delta, Config{}}, {Titans, Config{}}, {Hebbian, Config{}}, {Moneta, Config{}}, {YAAD, Config{}},
			{MEMORA, Config{}}, {Lattice, Config{Slots: d}}, {Trellis, Config{Slots: d}}, {Atlas, Config{NoNS: true}}, {Atlas, Config{}}} {
			name := string(v.name)
			if v.c.NoNS {
				name += "/noNS"
			}
			c := newPassage[float32](b, v, d, tokens, 1)
			c.dsT = nil
			b.Run(fmt.Sprintf("forward/%s/d%d", name, d), func(b *testing.B) {
				for b.Loop() {
					c.forward()
				}
			})
			b.Run(fmt.Sprintf("step/%s/d%d", name, d), func(b *testing.B) {
				for b.Loop() {
					c.forward()
					clear(c.dx)
					clear(c.dp)
					c.b.Backward(c.w, c.x, c.p, c.s0, c.cache, c.dy, nil, c.dx, c.dp, nil)
				}
				each := b.Elapsed().Seconds() / float64(b.N)
				b.ReportMetric(each*rate/forwardOps(c.b.Layout, tokens), "x-forward")
				b.ReportMetric(rate/1e9, "GEMM-Gmac/s")
			})
		}
	}
}
