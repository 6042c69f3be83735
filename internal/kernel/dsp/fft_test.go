package dsp

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"atenia/internal/bench/roof"
)

// direct is the definition, in float64.
func direct(xr, xi []float64) (yr, yi []float64) {
	n := len(xr)
	yr, yi = make([]float64, n), make([]float64, n)
	for k := range n {
		for j := range n {
			s, c := math.Sincos(-2 * math.Pi * float64(j*k%n) / float64(n))
			yr[k] += xr[j]*c - xi[j]*s
			yi[k] += xr[j]*s + xi[j]*c
		}
	}
	return yr, yi
}

func draw[F Float](r *rand.Rand, n int) ([]F, []float64) {
	x, w := make([]F, n), make([]float64, n)
	for i := range x {
		x[i] = F(r.NormFloat64())
		w[i] = float64(x[i])
	}
	return x, w
}

// far returns the largest difference over the root mean square of want, or over
// one (the deviation of the inputs) if want is rounding noise.
func far[F Float](got []F, want []float64) float64 {
	worst, sum := 0.0, float64(len(want))+1e-9
	for i := range want {
		worst = max(worst, math.Abs(float64(got[i])-want[i]))
		sum += want[i] * want[i]
	}
	return worst / math.Sqrt(sum/float64(max(len(want), 1)))
}

var lengths = []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 16, 17, 20, 25, 27, 32, 45, 60, 64, 75, 97, 100, 125, 128, 240, 243, 256, 400, 401, 486, 512, 600}

func TestDirect(t *testing.T) {
	t.Parallel()
	t.Run("float64", func(t *testing.T) { checkAll[float64](t, 2e-14) })
	t.Run("float32", func(t *testing.T) { checkAll[float32](t, 4e-6) })
}

func checkAll[F Float](t *testing.T, tol float64) {
	for _, n := range lengths {
		checkLength[F](t, rand.New(rand.NewPCG(1, uint64(n))), n, tol)
	}
}

// checkLength compares every transform of one length with the definition.
func checkLength[F Float](t *testing.T, r *rand.Rand, n int, tol float64) {
	t.Helper()
	tol *= 1 + math.Log2(float64(n+1))
	check := func(what string, got []F, want []float64) {
		t.Helper()
		if d := far(got, want); !(d <= tol) {
			t.Errorf("n %d, %s: off by %.3g, want at most %.3g", n, what, d, tol)
		}
	}
	xr, wr := draw[F](r, n)
	xi, wi := draw[F](r, n)
	yr, yi := direct(wr, wi)
	p := NewFFT[F](n)
	if p.Len() != n {
		t.Fatalf("Len = %d, want %d", p.Len(), n)
	}
	gr, gi := make([]F, n), make([]F, n)
	p.Forward(gr, gi, xr, xi)
	check("forward re", gr, yr)
	check("forward im", gi, yi)
	check("input kept", xr, wr)
	p.InverseSum(gr, gi, gr, gi)
	for i := range gr {
		gr[i], gi[i] = gr[i]/F(n), gi[i]/F(n)
	}
	check("inverse re", gr, wr)
	check("inverse im", gi, wi)
	p.Forward(xr, xi, xr, xi)
	check("in place", xr, yr)

	q := NewRealFFT[F](n)
	x, w := draw[F](r, n)
	zr, zi := direct(w, make([]float64, n))
	re, im := make([]F, q.Bins()), make([]F, q.Bins())
	q.Forward(re, im, x)
	check("real re", re, zr[:q.Bins()])
	check("real im", im, zi[:q.Bins()])
	back := make([]F, n)
	q.Inverse(back, re, im)
	check("real inverse", back, w)
	checkAdjoint(t, r, q, tol)
}

// checkAdjoint compares <A x, u> with <x, A' u> for both real transforms.
func checkAdjoint[F Float](t *testing.T, r *rand.Rand, q *RealFFT[F], tol float64) {
	t.Helper()
	x, _ := draw[F](r, q.Len())
	ur, _ := draw[F](r, q.Bins())
	ui, _ := draw[F](r, q.Bins())
	re, im, dx := make([]F, q.Bins()), make([]F, q.Bins()), make([]F, q.Len())
	q.Forward(re, im, x)
	q.ForwardAdjoint(dx, ur, ui)
	left, size := dot(re, ur)
	l2, s2 := dot(im, ui)
	right, _ := dot(x, dx)
	if d := math.Abs(left + l2 - right); d > tol*(size+s2+1e-9) {
		t.Errorf("n %d: forward adjoint off by %.3g of %.3g", q.Len(), d, size+s2)
	}
	q.Inverse(dx, ur, ui)
	q.InverseAdjoint(re, im, x)
	left, size = dot(dx, x)
	right, _ = dot(re, ur)
	r2, _ := dot(im, ui)
	if d := math.Abs(left - right - r2); d > tol*(size+1e-9) {
		t.Errorf("n %d: inverse adjoint off by %.3g of %.3g", q.Len(), d, size)
	}
}

func dot[F Float](a, b []F) (sum, size float64) {
	for i := range a {
		v := float64(a[i]) * float64(b[i])
		sum += v
		size += math.Abs(v)
	}
	return sum, size
}

// TestAllocations: a transform touches only the plan.
func TestAllocations(t *testing.T) {
	for _, n := range []int{400, 401, 1024} {
		p := NewRealFFT[float32](n)
		x, re, im := make([]float32, n), make([]float32, n), make([]float32, n)
		if a := testing.AllocsPerRun(10, func() {
			p.Forward(re, im, x)
			p.Inverse(x, re, im)
			p.ForwardAdjoint(x, re, im)
		}); a != 0 {
			t.Errorf("n %d: %v allocations a transform", n, a)
		}
	}
}

func FuzzTransform(f *testing.F) {
	for _, n := range []int{1, 6, 400, 77, 1024} {
		f.Add(uint16(n), uint64(n))
	}
	f.Fuzz(func(t *testing.T, n uint16, seed uint64) {
		length := int(n) % 700
		checkLength[float64](t, rand.New(rand.NewPCG(seed, 1)), length, 2e-14)
		checkLength[float32](t, rand.New(rand.NewPCG(seed, 2)), length, 4e-6)
	})
}

// peak is how many float32 operations one core can do a second.
var peak = sync.OnceValue(func() float64 { return roof.MeasureFMA(1) })

// Benchmark reports the speed as 2.5 n log2 n operations, the usual count of
// a real transform, and as a share of the peak of the core.
func Benchmark(b *testing.B) {
	for _, n := range []int{400, 1024, 2048} {
		b.Run(fmt.Sprintf("fft/%d/float32", n), func(b *testing.B) { bench[float32](b, n) })
		b.Run(fmt.Sprintf("fft/%d/float64", n), func(b *testing.B) { bench[float64](b, n) })
	}
}

func bench[F Float](b *testing.B, n int) {
	p := NewRealFFT[F](n)
	x, _ := draw[F](rand.New(rand.NewPCG(1, 2)), n)
	re, im := make([]F, p.Bins()), make([]F, p.Bins())
	for b.Loop() {
		p.Forward(re, im, x)
	}
	ops := 2.5 * float64(n) * math.Log2(float64(n))
	rate := ops * float64(b.N) / b.Elapsed().Seconds()
	b.ReportMetric(rate/1e9, "GFLOPS")
	b.ReportMetric(100*rate/peak(), "%ops")
}
