package grad

import (
	"fmt"
	"testing"
)

// BenchmarkOp measures what the tape adds to an operation: a product of
// vectors, element by element, by the loop alone, recorded, and recorded and
// replayed. Each result is per operation.
func BenchmarkOp(b *testing.B) {
	const ops = 256
	for _, n := range []int{1, 64} {
		x, y := make([]float32, n), make([]float32, ops*n)
		for i := range x {
			x[i] = 1
		}
		per := func(b *testing.B) {
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/ops, "ns/operation")
			b.ReportMetric(0, "ns/op")
		}
		b.Run(fmt.Sprintf("%d/loop", n), func(b *testing.B) {
			for b.Loop() {
				from := x
				for i := range ops {
					to := y[i*n:][:n]
					for j, v := range from {
						to[j] = v * x[j]
					}
					from = to
				}
			}
			per(b)
		})
		t := New[float32](nil)
		record := func() Ref {
			t.Reset()
			a := t.Input(x, n)
			r := a
			for range ops {
				r = t.Mul(r, a)
			}
			return r
		}
		b.Run(fmt.Sprintf("%d/recorded", n), func(b *testing.B) {
			for b.Loop() {
				record()
			}
			per(b)
		})
		b.Run(fmt.Sprintf("%d/replayed", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if t.BackwardFrom(record(), x) != nil {
					b.Fatal(t.Err())
				}
			}
			per(b)
		})
	}
}

// BenchmarkChain measures a gated layer with a residual, several times over:
// forward, and forward and backward.
func BenchmarkChain(b *testing.B) {
	const rows, dim, hidden, layers = 256, 256, 512, 4
	weights := make([]float32, hidden*dim)
	for i := range weights {
		weights[i] = float32(i%7-3) / 64
	}
	x := make([]float32, rows*dim)
	for i := range x {
		x[i] = float32(i%11-5) / 8
	}
	grads := make([]float32, len(weights))
	p := NewThreads(2)
	defer p.Close()
	t := New[float32](nil, WithThreads(p))
	record := func() Ref {
		t.Reset()
		r := t.Const(x, rows, dim)
		for range layers {
			gate, up, down := t.Borrow(weights, hidden, dim), t.Borrow(weights, hidden, dim), t.Borrow(weights, dim, hidden)
			for _, w := range [3]Ref{gate, up, down} {
				t.GradInto(w, grads)
			}
			h := t.Mul(t.SiLU(t.MatMulT(r, gate)), t.MatMulT(r, up))
			r = t.Add(r, t.MatMulT(h, down))
		}
		return t.Sum(r)
	}
	flops := 2.0 * rows * dim * hidden * 3 * layers
	b.Run("forward", func(b *testing.B) {
		for b.Loop() {
			record()
		}
		b.ReportMetric(flops*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOPS")
	})
	b.Run("both", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if t.Backward(record()) != nil {
				b.Fatal(t.Err())
			}
		}
		b.ReportMetric(3*flops*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOPS")
	})
}
