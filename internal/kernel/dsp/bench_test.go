package dsp_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"atenia/internal/kernel/dsp"
	"atenia/internal/kernel/roof"
)

// Peak rates of one core: floating-point operations, of which a multiply-add is
// two, and bytes read from the second-level cache, per second.
var (
	peakOps   = sync.OnceValue(func() float64 { return roof.MeasureFMA(1) })
	peakBytes = sync.OnceValue(func() float64 {
		r, err := roof.Measure(1)
		if err != nil {
			panic(err)
		}
		return r.Cache
	})
)

// frames64 is a block of a real-time host.
const frames64 = 64

// ops reports n operations per iteration as a share of the peak of one core.
func ops(b *testing.B, n float64) {
	b.ReportMetric(100*n*float64(b.N)/b.Elapsed().Seconds()/peakOps(), "%ops")
}

// bytes does so with bytes.
func bytes(b *testing.B, n float64) {
	b.ReportMetric(100*n*float64(b.N)/b.Elapsed().Seconds()/peakBytes(), "%cache")
}

// BenchmarkRows are kernels whose roof is the cache.
func BenchmarkRows(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{64, 256, 1024} {
		x, y, z := random[float32](r, n), random[float32](r, n), random[float32](r, n)
		var l dsp.Lanes
		for _, c := range []struct {
			name string
			rows int // read and written
			f    func()
		}{
			{"scale", 2, func() { dsp.Scale(y, x, 0.5) }},
			{"mul", 3, func() { dsp.Mul(y, x, z) }},
			{"add", 3, func() { dsp.Add(y, x, z) }},
			{"addDot", 2, func() { dsp.AddDot(&l, x, z, 0) }},
			{"peak", 1, func() { dsp.Peak(x) }},
			{"finite", 1, func() { dsp.NotFinite(x) }},
		} {
			b.Run(fmt.Sprintf("%s/%d", c.name, n), func(b *testing.B) {
				for b.Loop() {
					c.f()
				}
				bytes(b, float64(4*n*c.rows))
			})
		}
	}
}

// BenchmarkBank filters rows of a block, and the [32, 4096] of torchaudio's
// table. A frame of a row is 5 multiply-adds forward, 10 back with sums.
func BenchmarkBank(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, s := range []struct{ rows, n int }{{1, frames64}, {2, frames64}, {8, frames64}, {16, frames64}, {96, frames64}, {96, 1024}, {32, 4096}} {
		f := bank[float32](r, s.rows)
		x, dy := random[float32](r, s.rows*s.n), random[float32](r, s.rows*s.n)
		y, dx := make([]float32, len(x)), make([]float32, len(x))
		for i := range s.rows {
			f.Bind(i, y[i*s.n:], x[i*s.n:])
		}
		name := fmt.Sprintf("%dx%d", s.rows, s.n)
		report := func(b *testing.B, perFrame int) {
			ops(b, float64(2*perFrame*len(x)))
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(s.rows), "ns/row")
		}
		b.Run("forward/"+name, func(b *testing.B) {
			for b.Loop() {
				f.Run(s.n)
			}
			report(b, 5)
		})
		b.Run("backward/"+name, func(b *testing.B) {
			for b.Loop() {
				f.Backward(dx, dy, nil, nil, s.n, s.n, 0)
			}
			report(b, 5)
		})
		b.Run("gradients/"+name, func(b *testing.B) {
			for b.Loop() {
				f.Backward(dx, dy, x, y, s.n, s.n, 0)
			}
			report(b, 10)
		})
	}
}

// BenchmarkWindows are filters of a block.
func BenchmarkWindows(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	const n = 1024
	for _, taps := range []int{39, 128, 513} {
		h, x, y := random[float32](r, taps), random[float32](r, n+taps-1), make([]float32, n)
		sums := make([]float64, taps)
		work := float64(2 * n * taps)
		b.Run(fmt.Sprintf("correlate/%d", taps), func(b *testing.B) {
			for b.Loop() {
				dsp.Correlate(y, x, h)
			}
			ops(b, work)
		})
		b.Run(fmt.Sprintf("taps/%d", taps), func(b *testing.B) {
			for b.Loop() {
				dsp.AddCorrelation(sums, y, x)
			}
			ops(b, work)
		})
		b.Run(fmt.Sprintf("dot/%d", taps), func(b *testing.B) {
			for b.Loop() {
				dsp.Dot(h, x[:taps])
			}
			ops(b, float64(2*taps))
		})
	}
}
