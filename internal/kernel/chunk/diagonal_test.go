package chunk

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"atenia/internal/kernel/dense"
)

func TestDiagonal(t *testing.T) {
	const channels, n, rows = 37, 5, 20
	rng := rand.New(rand.NewPCG(3, 5))
	draw := func(k int, f func() float64) []float32 {
		v := make([]float32, k)
		for i := range v {
			v[i] = float32(f())
		}
		return v
	}
	a := draw(n*channels, func() float64 { return -rng.ExpFloat64() })
	d := Diagonal[float32]{N: n, A: dense.Part[float32]{V: a, Stride: channels}}
	state, exact := make([]float32, n*channels), make([]float64, n*channels)
	y, work := make([]float32, channels), make([]float32, 2*channels)
	for range rows {
		delta, u := draw(channels, rng.Float64), draw(channels, rng.NormFloat64)
		b, c := draw(n, rng.NormFloat64), draw(n, rng.NormFloat64)
		d.Step(dense.Part[float32]{V: state, Stride: channels}, y, delta, u, b, c, work)
		for i := range channels {
			want := 0.0
			for k := range n {
				s := &exact[k*channels+i]
				*s = math.Exp(float64(delta[i])*float64(a[k*channels+i]))**s + float64(b[k])*float64(delta[i])*float64(u[i])
				want += float64(c[k]) * *s
			}
			if math.Abs(float64(y[i])-want) > 1e-5 {
				t.Fatalf("channel %d: got %g, want %g", i, y[i], want)
			}
		}
	}
}

func TestSoftplus(t *testing.T) {
	var x []float32
	for v := float32(-120); v < 120; v += 0.037 {
		x = append(x, v)
	}
	got := slices.Clone(x)
	Softplus(got)
	for i, v := range x {
		want := math.Max(float64(v), 0) + math.Log1p(math.Exp(-math.Abs(float64(v))))
		if math.Abs(float64(got[i])-want) > 3e-7*want+1e-38 {
			t.Fatalf("softplus(%g) = %g, want %g", v, got[i], want)
		}
	}
}
