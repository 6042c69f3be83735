package dense_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"atenia/internal/kernel/dense"
	"atenia/internal/kernel/roof"
	"atenia/internal/machine/pool"
)

// peak is the float32 multiply-adds of all processors, per second, times two.
var peak = sync.OnceValue(func() float64 { return roof.MeasureFMA(runtime.GOMAXPROCS(0)) })

// report reports the rate of n floating-point operations per iteration, and its
// share of the machine's peak.
func report(b *testing.B, n float64) {
	rate := n * float64(b.N) / b.Elapsed().Seconds()
	b.ReportMetric(rate/1e9, "GFLOP/s")
	b.ReportMetric(100*rate/peak(), "%peak")
}

func benchWork(b *testing.B) *dense.Work[float32] {
	p := pool.New(runtime.GOMAXPROCS(0))
	b.Cleanup(p.Close)
	return dense.New[float32](p)
}

// BenchmarkProduct multiplies the shapes of training 8 × 256 tokens: forward,
// gradient of the input, gradient of the weight.
func BenchmarkProduct(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	w := benchWork(b)
	for _, s := range [][3]int{{2048, 256, 256}, {2048, 256, 688}, {2048, 688, 256}, {2048, 256, 4096}, {2048, 512, 512}, {2048, 512, 1376}, {2048, 1376, 512}, {512, 512, 16384}, {16, 16, 16}, {64, 64, 64}} {
		m, k, n := s[0], s[1], s[2]
		x, weight, y := random[float32](r, m*k), random[float32](r, n*k), random[float32](r, m*n)
		run := func(name string, f func()) {
			b.Run(fmt.Sprintf("%s/%dx%dx%d", name, m, k, n), func(b *testing.B) {
				for b.Loop() {
					f()
				}
				report(b, 2*float64(m*k*n))
			})
		}
		run("forward", func() { w.MulT(y, x, weight, m, k, n) })
		run("input", func() { w.AddMul(x, y, weight, m, n, k) })
		run("weight", func() { w.AddTMul(weight, y, x, n, m, k) })
	}
}

// BenchmarkMemory times the operations of memory rules on one matrix: read,
// write, decay.
func BenchmarkMemory(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{16, 64, 256} {
		m, x, y := random[float32](r, n*n), random[float32](r, n), random[float32](r, n)
		for _, c := range []struct {
			name string
			f    func()
		}{
			{"matvec", func() { dense.MatVec(y, m, x) }},
			{"transposed", func() { dense.MatVecT(y, m, x) }},
			{"outer", func() { dense.AddOuter(m, 1e-9, x, x) }},
			{"decay", func() { dense.ScaleAddOuter(m, 0.5, 1, x, x) }},
		} {
			b.Run(fmt.Sprintf("%s/%d", c.name, n), func(b *testing.B) {
				for b.Loop() {
					c.f()
				}
				report(b, 2*float64(n*n))
			})
		}
	}
}

// BenchmarkAttention attends over 8 rows of 256 tokens with 8 heads of 32; half
// of all pairs of positions count.
func BenchmarkAttention(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	w := benchWork(b)
	h := dense.Heads[float32]{Q: 8, KV: 8, Dim: 32, Scale: 0.17}
	const rows, width = 2048, 256
	lens := []int{256, 256, 256, 256, 256, 256, 256, 256}
	q, k, v := random[float32](r, rows*width), random[float32](r, rows*width), random[float32](r, rows*width)
	y, lse, d := make([]float32, rows*width), make([]float32, rows*h.Q), make([]float32, rows*width)
	pairs := float64(8 * 8 * 256 * 257 / 2)
	b.Run("forward", func(b *testing.B) {
		for b.Loop() {
			w.Attention(y, lse, q, k, v, lens, h)
		}
		report(b, pairs*4*32)
	})
	b.Run("back", func(b *testing.B) {
		for b.Loop() {
			w.AttentionBack(d, d, d, q, k, v, y, lse, q, lens, h)
		}
		report(b, pairs*10*32)
	})
}
