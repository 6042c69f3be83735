package dsp_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"atenia/internal/kernel/dsp"
)

// lowpass is the audio EQ cookbook's.
func lowpass(f, q float64) dsp.Coefficients {
	w := 2 * math.Pi * f / 48000
	c, alpha := math.Cos(w), math.Sin(w)/(2*q)
	a0 := 1 + alpha
	return dsp.Coefficients{B0: (1 - c) / 2 / a0, B1: (1 - c) / a0, B2: (1 - c) / 2 / a0, A1: -2 * c / a0, A2: (1 - alpha) / a0}
}

// bank returns a bank with other filters in every row.
func bank[F dsp.Float](r *rand.Rand, rows int) *dsp.Bank[F] {
	b := dsp.NewBank[F](rows)
	for i := range rows {
		b.Set(i, lowpass(30+6000*r.Float64(), .5+10*r.Float64()))
	}
	return b
}

// TestBiquadValues: the impulse response of the cookbook's low-pass of 1 kHz.
func TestBiquadValues(t *testing.T) {
	b := dsp.NewBank[float64](1)
	b.Set(0, lowpass(1000, math.Sqrt(.5)))
	x := []float64{1, 0, 0, 0}
	b.Forward(x, x, 4, 4)
	for i, want := range []float64{.00391612666, .0149413589, .0277854662, .0380237455} {
		if math.Abs(x[i]-want) > 1e-10 {
			t.Errorf("frame %d is %v, want %v", i, x[i], want)
		}
	}
}

// TestBankCuts: neither cuts nor neighbours change a row, forwards or back.
func TestBankCuts(t *testing.T) {
	t.Run("float32", testBankCuts[float32])
	t.Run("float64", testBankCuts[float64])
}

func testBankCuts[F dsp.Float](t *testing.T) {
	const n = 1100
	r := rand.New(rand.NewPCG(3, 4))
	for _, rows := range []int{1, 2, 8, 9, 16, 21} {
		seed := r.Uint64()
		whole := bank[F](rand.New(rand.NewPCG(seed, 0)), rows)
		cut := bank[F](rand.New(rand.NewPCG(seed, 0)), rows)
		x, dy := random[F](r, rows*n), random[F](r, rows*n)
		y, dx := make([]F, rows*n), make([]F, rows*n)
		whole.Forward(y, x, n, n)
		whole.Backward(dx, dy, x, y, n, n, 0)

		y2, dx2 := make([]F, rows*n), make([]F, rows*n)
		c := cuts(r, n)
		for k := 1; k < len(c); k++ {
			cut.Forward(y2[c[k-1]:], x[c[k-1]:], n, c[k]-c[k-1])
		}
		for k := len(c) - 1; k > 0; k-- {
			at := c[k-1]
			cut.Backward(dx2[at:], dy[at:], x[at:], y2[at:], n, c[k]-at, int64(at))
		}
		same(t, "forward", y2, y)
		same(t, "backward", dx2, dx)

		one, row := dsp.NewBank[F](1), rows-1
		rs := rand.New(rand.NewPCG(seed, 0))
		for range rows {
			one.Set(0, lowpass(30+6000*rs.Float64(), .5+10*rs.Float64()))
		}
		y3, dx3 := make([]F, n), make([]F, n)
		one.Bind(0, y3, x[row*n:])
		one.Run(n)
		one.Backward(dx3, dy[row*n:], x[row*n:], y3, n, n, 0)
		same(t, "one row forward", y3, y[row*n:])
		same(t, "one row backward", dx3, dx[row*n:])
		for i := range rows {
			if whole.Gradient(i) != cut.Gradient(i) || whole.State(i) != cut.State(i) {
				t.Fatalf("row %d of %d: gradient %v, cut %v", i, rows, whole.Gradient(i), cut.Gradient(i))
			}
		}
		if whole.Gradient(row) != one.Gradient(0) {
			t.Fatalf("gradient of a row alone: %v, with others %v", one.Gradient(0), whole.Gradient(row))
		}
	}
}

func inner[F dsp.Float](a, b []F) float64 {
	s := 0.0
	for i, v := range a {
		s += float64(v) * float64(b[i])
	}
	return s
}

// TestBankTranspose: ⟨Ax, z⟩ = ⟨x, Aᵀz⟩.
func TestBankTranspose(t *testing.T) {
	t.Run("float32", func(t *testing.T) { testTranspose[float32](t, 1e-4) })
	t.Run("float64", func(t *testing.T) { testTranspose[float64](t, 1e-12) })
}

func testTranspose[F dsp.Float](t *testing.T, most float64) {
	const n = 4096
	r := rand.New(rand.NewPCG(5, 6))
	b := bank[F](r, 20)
	x, z := random[F](r, 20*n), random[F](r, 20*n)
	y, dx := make([]F, 20*n), make([]F, 20*n)
	b.Forward(y, x, n, n)
	b.Backward(dx, z, nil, nil, n, n, 0)
	for i := range 20 {
		x, y, z, dx := x[i*n:][:n], y[i*n:][:n], z[i*n:][:n], dx[i*n:][:n]
		if e := math.Abs(inner(y, z)-inner(x, dx)) / math.Sqrt(inner(y, y)*inner(z, z)); e > most {
			t.Errorf("row %d: %g, at most %g", i, e, most)
		}
	}
}

// TestBankGradient compares gradients of coefficients with differences.
func TestBankGradient(t *testing.T) {
	const n, h = 600, 1e-6
	r := rand.New(rand.NewPCG(7, 8))
	x, z := random[float64](r, n), random[float64](r, n)
	c := lowpass(440, 5)
	y, dx := make([]float64, n), make([]float64, n)
	b := dsp.NewBank[float64](1)
	loss := func() float64 {
		b.Reset()
		b.Set(0, c)
		b.Forward(y, x, n, n)
		return inner(y, z)
	}
	loss()
	b.Backward(dx, z, x, y, n, n, 0)
	g := b.Gradient(0)
	for _, p := range []struct {
		name string
		v    *float64
		got  float64
	}{{"b0", &c.B0, g.B0}, {"b1", &c.B1, g.B1}, {"b2", &c.B2, g.B2}, {"a1", &c.A1, g.A1}, {"a2", &c.A2, g.A2}} {
		v := *p.v
		*p.v = v + h
		up := loss()
		*p.v = v - h
		want := (up - loss()) / (2 * h)
		*p.v = v
		if math.Abs(p.got-want) > 1e-4*math.Abs(want) {
			t.Errorf("gradient of %s is %v, differences say %v", p.name, p.got, want)
		}
	}
}

// TestFramed: constant coefficients given frame by frame make the same bits.
func TestFramed(t *testing.T) {
	t.Run("float32", testFramed[float32])
	t.Run("float64", testFramed[float64])
}

func testFramed[F dsp.Float](t *testing.T) {
	const n = 300
	r := rand.New(rand.NewPCG(9, 10))
	c := lowpass(700, 2)
	b0, c1, c2, a1, a2 := c.Direct()
	full := func(v float64) []F {
		x := make([]F, n)
		for i := range x {
			x[i] = F(v)
		}
		return x
	}
	f := dsp.Framed[F]{B0: full(b0), C1: full(c1), C2: full(c2), A1: full(a1), A2: full(a2)}
	b := dsp.NewBank[F](1)
	b.Set(0, c)
	x, dy := random[F](r, n), random[F](r, n)
	y, y2, dx, dx2, tt := make([]F, n), make([]F, n), make([]F, n), make([]F, n), make([]F, n+2)
	b.Forward(y, x, n, n)
	b.Backward(dx, dy, x, y, n, n, 0)
	var s, l [2]F
	f.Forward(y2, x, &s)
	f.Backward(dx2, dy, tt, &l)
	same(t, "forward", y2, y)
	same(t, "backward", dx2, dx)
	if s != b.State(0) {
		t.Errorf("state %v, want %v", s, b.State(0))
	}
	var sums [5]float64
	for i := range n {
		for k := range 3 {
			sums[k] += float64(tt[i+k]) * float64(x[i])
		}
		sums[3] -= float64(tt[i+1]) * float64(y[i])
		sums[4] -= float64(tt[i+2]) * float64(y[i])
	}
	g := b.Gradient(0)
	for k, want := range [5]float64{g.B0, g.B1, g.B2, g.A1, g.A2} {
		if math.Abs(sums[k]-want) > 1e-4*math.Abs(want) {
			t.Errorf("sum %d is %v, want %v", k, sums[k], want)
		}
	}
}
