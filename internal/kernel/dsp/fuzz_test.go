package dsp_test

import (
	"math/rand/v2"
	"testing"

	"atenia/internal/golden/await"
	"atenia/internal/kernel"
	"atenia/internal/kernel/dsp"
	"atenia/internal/kernel/kerneltest"
)

func TestMain(m *testing.M)          { kerneltest.Main(m) }
func TestForcedVariant(t *testing.T) { kerneltest.Forced(t) }

// FuzzVariants checks that every kernel yields the same bits in every variant,
// the portable one included.
func FuzzVariants(f *testing.F) {
	f.Add(uint64(1), uint16(64), uint8(16), uint8(39), float32(1))
	f.Add(uint64(2), uint16(4), uint8(1), uint8(1), float32(1e-38))
	f.Add(uint64(3), uint16(301), uint8(33), uint8(70), float32(1e30))
	f.Add(uint64(4), uint16(519), uint8(7), uint8(16), float32(0))
	f.Add(uint64(5), uint16(700), uint8(25), uint8(17), float32(-1e38))
	best := kernel.Variant()
	f.Cleanup(func() { _ = kernel.SetVariant(best) })
	f.Fuzz(func(t *testing.T, seed uint64, n16 uint16, rows8, taps8 uint8, scale float32) {
		n, rows, taps := 1+int(n16%800), 1+int(rows8%40), 1+int(taps8%100)
		var first [][]float64
		for _, variant := range kernel.Variants() {
			if err := kernel.SetVariant(variant); err != nil {
				t.Fatal(err)
			}
			got := results(rand.New(rand.NewPCG(seed, 1)), n, rows, taps, scale)
			if first == nil {
				first = got
			}
			for i := range got {
				same(t, variant+", result "+string(rune('a'+i)), got[i], first[i])
			}
		}
	})
}

// results returns the outputs of all kernels for the same numbers.
func results(r *rand.Rand, n, rows, taps int, scale float32) (out [][]float64) {
	vector := func(n int) []float32 {
		x := random[float32](r, n)
		for i := range x {
			x[i] *= scale
		}
		return x
	}
	keep := func(x []float32) {
		wide := make([]float64, len(x))
		for i, v := range x {
			wide[i] = float64(v)
		}
		out = append(out, wide)
	}
	x, y := vector(n), vector(n)
	row := func(f func(dst []float32)) {
		dst := vector(n)
		f(dst)
		keep(dst)
	}
	row(func(dst []float32) { dsp.Scale(dst, x, y[0]) })
	row(func(dst []float32) { dsp.BindScale(dst, x, &y[0])() })
	row(func(dst []float32) { dsp.Mul(dst, x, y) })
	row(func(dst []float32) { dsp.Mul(dst, dst, y) })
	row(func(dst []float32) { dsp.Add(dst, x, y) })
	row(func(dst []float32) { dsp.AddScaled(dst, x, y[0]) })
	row(func(dst []float32) { dsp.AddMul(dst, x, y) })

	frame0 := int64(r.IntN(100))
	var dot, sum dsp.Lanes
	dsp.AddDot(&dot, x, y, frame0)
	dsp.AddSum(&sum, x, frame0)
	out = append(out, dot[:], sum[:], []float64{dsp.SumSquares(x)})
	keep([]float32{dsp.Peak(x), dsp.Dot(x, y)})

	h, long := vector(taps), vector(n+taps-1)
	row(func(dst []float32) { dsp.Correlate(dst, long, h) })
	sums := random[float64](r, taps)
	dsp.AddCorrelation(sums, y, long)
	out = append(out, sums)
	return append(out, filters(r, n, rows, frame0, vector)...)
}

// filters returns a bank's outputs for the rows, with and without sums.
func filters(r *rand.Rand, n, rows int, frame0 int64, vector func(int) []float32) (out [][]float64) {
	stride := n + r.IntN(5)
	b := bank[float32](r, rows)
	keep := func(x []float32) {
		wide := make([]float64, len(x))
		for i, v := range x {
			wide[i] = float64(v)
		}
		out = append(out, wide)
	}
	x, dy := vector(rows*stride), vector(rows*stride)
	y, dx := vector(rows*stride), vector(rows*stride)
	b.Forward(y, x, stride, n)
	keep(y)
	for i := range rows {
		b.Bind(i, y[i*stride:], y[i*stride:])
	}
	b.Run(n)
	keep(y)
	b.Backward(dx, dy, nil, nil, stride, n, frame0)
	keep(dx)
	b.Backward(dy, dy, x, y, stride, n, frame0)
	keep(dy)
	for i := range rows {
		s, g := b.State(i), b.Gradient(i)
		out = append(out, []float64{float64(s[0]), float64(s[1]), g.B0, g.B1, g.B2, g.A1, g.A2})
	}
	return out
}

// TestNoAllocation: kernels do not allocate.
func TestNoAllocation(t *testing.T) {
	const n, rows = 100, 20
	r := rand.New(rand.NewPCG(1, 1))
	b := bank[float32](r, rows)
	x, y := random[float32](r, n*rows), random[float32](r, n*rows)
	sums := make([]float64, 40)
	var l dsp.Lanes
	if got := await.Allocs(100, func() {
		dsp.Scale(y[:n], x[:n], 2)
		dsp.AddDot(&l, x, y, 7)
		dsp.Correlate(y[:n], x, x[:30])
		dsp.AddCorrelation(sums, y[:n], x)
		b.Forward(y, x, n, n)
		b.Backward(y, y, x, x, n, n, 3)
		if dsp.NotFinite(x) >= 0 || dsp.Peak(x) == 0 {
			t.Error("no signal")
		}
	}); got != 0 {
		t.Errorf("%v allocations", got)
	}
}
