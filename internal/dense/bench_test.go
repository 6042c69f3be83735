package dense_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"atenia/internal/dense"
	"atenia/internal/pool"
	"atenia/internal/roof"
)

// peak is the float32 multiply-adds of all processors, per second, times two.
var peak = sync.OnceValue(func() float64 { return roof.MeasureFMA(runtime.GOMAXPROCS(0)) })

// report states the rate of n floating-point operations an iteration and
// what part of the machine's it is.
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
