package dsp

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"atenia/internal/golden/await"
	"atenia/internal/kernel/roof"
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
	p := newFFT[F](n)
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
		if a := await.Allocs(10, func() {
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
	for _, n := range []int{400, 1024, 2048, 4096} {
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

// TestAssembledTransforms: assembly gives the bits of the portable stages and of the
// loops around them, for random lengths past every block size.
func TestAssembledTransforms(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 1))
	all := []int{64, 128, 256, 512, 1024, 2048, 4096, 192, 320, 960, 1920, 200, 400, 800, 12, 20, 36, 40, 72, 96, 1200, 48, 80, 30, 62, 66}
	for range 40 {
		all = append(all, 2+r.IntN(3000))
	}
	for _, n := range all {
		x, _ := draw[float32](r, n)
		y, _ := draw[float32](r, n)
		p := newFFT[float32](n)
		for i := range p.stages {
			st := &p.stages[i]
			got, want := make([]float32, 2*n), make([]float32, 2*n)
			st.run(got[:n], got[n:], x, y)
			st.portable(want[:n], want[n:], x, y)
			if k := firstDifference(got, want); k >= 0 {
				t.Fatalf("n %d, stage %d of radix %d and stride %d: number %d is %x, want %x", n, i, st.radix, st.s, k, got[k], want[k])
			}
		}
		f := NewRealFFT[float32](n)
		re, im := make([]float32, f.Bins()), make([]float32, f.Bins())
		f.Forward(re, im, x)
		back := make([]float32, n)
		f.Inverse(back, re, im)
		// float64 has the same loops and no assembly.
		g := NewRealFFT[float64](n)
		xs := make([]float64, n)
		for i, v := range x {
			xs[i] = float64(v)
		}
		wr, wi := make([]float64, g.Bins()), make([]float64, g.Bins())
		g.Forward(wr, wi, xs)
		for _, c := range []struct {
			what string
			got  []float32
			want []float64
		}{{"re", re, wr}, {"im", im, wi}, {"inverse", back, xs}} {
			if d := far(c.got, c.want); !(d < 1e-6*math.Log2(float64(n)+2)) {
				t.Errorf("n %d, %s: off by %g", n, c.what, d)
			}
		}
	}
}

func firstDifference(a, b []float32) int {
	for i := range a {
		if math.Float32bits(a[i]) != math.Float32bits(b[i]) {
			return i
		}
	}
	return -1
}

// TestRealHalves: what assembly does around the stages has the bits of the Go loops,
// which a transform takes whose length leaves assembly nothing.
func TestRealHalves(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 2))
	for range 200 {
		h := 2 + r.IntN(300)
		re, _ := draw[float32](r, h+1)
		im, _ := draw[float32](r, h+1)
		wr, _ := draw[float32](r, h+1)
		wi, _ := draw[float32](r, h+1)
		want, got := [2][]float32{slices.Clone(re), slices.Clone(im)}, [2][]float32{slices.Clone(re), slices.Clone(im)}
		n := unpack32(got[0], got[1], wr, wi, h)
		unpack(want[0], want[1], wr, wi, 1, h, n)
		if a, b := firstDifference(got[0], want[0]), firstDifference(got[1], want[1]); a >= 0 || b >= 0 {
			t.Fatalf("h %d, %d by assembly: bins %d and %d differ", h, n, a, b)
		}
		a, b := [2][]float32{make([]float32, h), make([]float32, h)}, [2][]float32{make([]float32, h), make([]float32, h)}
		n = pack32(a[0], a[1], re, im, wr, wi, h)
		pack(b[0], b[1], re, im, wr, wi, 1, h, n)
		if k, l := firstDifference(a[0], b[0]), firstDifference(a[1], b[1]); k >= 0 || l >= 0 {
			t.Fatalf("h %d, %d by assembly: pairs %d and %d differ", h, n, k, l)
		}
		x, _ := draw[float32](r, 2*h)
		n = pairs2rows32(a[0], a[1], x)
		for j := range n {
			if a[0][j] != x[2*j] || a[1][j] != x[2*j+1] {
				t.Fatalf("pair %d of %d", j, n)
			}
		}
		y := make([]float32, 2*h)
		n = rows2pairs32(y, re[:h], im[:h], 0.3)
		for j := range n {
			if y[2*j] != re[j]*0.3 || y[2*j+1] != im[j]*0.3 {
				t.Fatalf("row %d of %d", j, n)
			}
		}
	}
}
