package chunk

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"atenia/internal/kernel/dense"
)

// drawGeneral returns random tokens of one head like those of RWKV-7: κ of length one,
// b = κ times a rate, and decays of any strength down to fall.
func drawGeneral[F dense.Float](seed uint64, n, k, v int, fall float64) *GeneralTokens[F] {
	r := rand.New(rand.NewPCG(seed, 2))
	stride := max(k, v)
	fill := func(f func() float64) []F {
		x := make([]F, n*stride)
		for i := range x {
			x[i] = F(f())
		}
		return x
	}
	x := &GeneralTokens[F]{Stride: stride, Kappa: fill(r.NormFloat64), B: fill(r.Float64), Key: fill(r.NormFloat64), Q: fill(r.NormFloat64), V: fill(r.NormFloat64), Y: make([]F, n*stride)}
	x.W = fill(func() float64 { return -fall * r.Float64() })
	for t := range n {
		kappa := x.Kappa[t*stride:][:k]
		dense.Scale(kappa, 1/dense.Norm(kappa))
		dense.Mul(x.B[t*stride:][:k], x.B[t*stride:][:k], kappa)
	}
	return x
}

// recurrence computes the definition in float64.
func (x *GeneralTokens[F]) recurrence(n, k, v int) []float64 {
	y, _ := x.magnitudes(n, k, v)
	return y
}

// magnitudes computes the definition in float64 and the largest sum that an output could
// be of terms as large as the state's so far: what rounding is in proportion to where the
// terms of a sum cancel.
func (x *GeneralTokens[F]) magnitudes(n, k, v int) (y []float64, top float64) {
	s, y := make([]float64, k*v), make([]float64, n*x.Stride)
	largest := 0.0
	for t := range n {
		at := t * x.Stride
		for j := range v {
			u := 0.0
			for c := range k {
				u -= s[c*v+j] * float64(x.Kappa[at+c])
			}
			for c := range k {
				p := &s[c*v+j]
				a, b, d := math.Exp(float64(x.W[at+c]))**p, float64(x.B[at+c])*u, float64(x.Key[at+c])*float64(x.V[at+j])
				*p = a + b + d
				y[at+j] += *p * float64(x.Q[at+c])
				largest = max(largest, math.Abs(a), math.Abs(b), math.Abs(d))
			}
		}
		sum := 0.0
		for _, q := range x.Q[at : at+k] {
			sum += math.Abs(float64(q))
		}
		top = max(top, sum*largest)
	}
	return y, top
}

// runs computes tokens in calls of the given numbers, the last repeating.
func (x *GeneralTokens[F]) runs(g *General[F], n int, sizes ...int) []F {
	h := CutGeneral(make([]F, GeneralLen(g.K, g.V)), g.K, g.V)
	y := make([]F, len(x.Y))
	for at := 0; at < n; {
		m := min(sizes[0], n-at, GeneralSpan-at%GeneralSpan)
		if len(sizes) > 1 {
			sizes = sizes[1:]
		}
		o := at * x.Stride
		g.Run(h, &GeneralTokens[F]{Stride: x.Stride, W: x.W[o:], Kappa: x.Kappa[o:], B: x.B[o:], Key: x.Key[o:], Q: x.Q[o:], V: x.V[o:], Y: y[o:]}, at%GeneralSpan, m)
		at += m
	}
	return y
}

// The strongest decay that RWKV-7 has.
const strongest = 0.6065306597126334

func TestGeneralFollowsTheRecurrence(t *testing.T) {
	for _, fall := range []float64{0.001, strongest} {
		const n, k, v = 100, 24, 40
		x := drawGeneral[float64](3, n, k, v, fall)
		got, want := x.runs(NewGeneral[float64](k, v), n, 7, 64), x.recurrence(n, k, v)
		for i := range want {
			if math.Abs(got[i]-want[i]) > 1e-11*(1+math.Abs(want[i])) {
				t.Fatalf("decays to %g: token %d, value %d: got %g, want %g", fall, i/v, i%v, got[i], want[i])
			}
		}
	}
}

// In float32 decays of one sign and strength, the worst for factors, lose no accuracy.
func TestGeneralAccuracy(t *testing.T) {
	const n, k, v = 256, 64, 64
	for _, every := range []float32{0, -1e-4, -0.1, -strongest} {
		x := drawGeneral[float32](4, n, k, v, strongest)
		for i := range x.W {
			if every != 0 {
				x.W[i] = every
			}
		}
		got, want := x.runs(NewGeneral[float32](k, v), n, 64), x.recurrence(n, k, v)
		top := 0.0
		for _, y := range want {
			top = max(top, math.Abs(y))
		}
		for i := range want {
			if d := math.Abs(float64(got[i]) - want[i]); !(d <= 3e-6*top) {
				t.Fatalf("decays %g: token %d is off by %g of %g", every, i/v, d, top)
			}
		}
	}
}

// How tokens are divided into calls does not change a bit.
func TestGeneralSplits(t *testing.T) {
	for _, c := range [][2]int{{16, 16}, {64, 64}, {24, 40}, {300, 20}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			const n = 70
			x := drawGeneral[float32](5, n, c[0], c[1], strongest)
			g := NewGeneral[float32](c[0], c[1])
			want := x.runs(g, n, GeneralSpan)
			for _, sizes := range [][]int{{1}, {2}, {3}, {5, 1, 30, 7}, {15, 1, 16}} {
				if got := x.runs(g, n, sizes...); !slices.Equal(got, want) {
					t.Errorf("calls of %d tokens differ", sizes)
				}
			}
		})
	}
}

// FuzzGeneral compares spans with the definition, and calls of one number of tokens with
// those of another.
func FuzzGeneral(f *testing.F) {
	f.Add(uint64(1), uint8(40), uint8(16), uint8(16), uint8(3), uint8(255))
	f.Add(uint64(2), uint8(90), uint8(33), uint8(5), uint8(17), uint8(0))
	f.Fuzz(func(t *testing.T, seed uint64, n, k, v, step, fall uint8) {
		if n == 0 || k == 0 || v == 0 || step == 0 {
			return
		}
		x := drawGeneral[float32](seed, int(n), int(k), int(v), strongest*float64(fall)/255)
		g := NewGeneral[float32](int(k), int(v))
		want := x.runs(g, int(n), GeneralSpan)
		if got := x.runs(g, int(n), int(step)); !slices.Equal(got, want) {
			t.Error("steps give other bits")
		}
		exact, top := x.magnitudes(int(n), int(k), int(v))
		for i := range want {
			if d := math.Abs(float64(want[i]) - exact[i]); !(d <= 3e-6*top) {
				t.Fatalf("token %d is off by %g of terms of %g", i/x.Stride, d, top)
			}
		}
	})
}

// BenchmarkGeneral reports the definition's multiply-adds (two reads and three writes of
// the memory for each token) as a share of the rate of a large product.
func BenchmarkGeneral(b *testing.B) {
	const n, k, v = 256, 64, 64
	x := drawGeneral[float32](5, n, k, v, strongest)
	product := newProduct()
	for _, step := range []int{GeneralSpan, 1} {
		b.Run(fmt.Sprint(step), func(b *testing.B) {
			g := NewGeneral[float32](k, v)
			best, most := time.Hour, time.Hour
			for b.Loop() {
				start := time.Now()
				x.runs(g, n, step)
				best = min(best, time.Since(start))
				start = time.Now()
				product()
				most = min(most, time.Since(start))
			}
			rate := float64(5*n*k*v) / best.Seconds()
			b.ReportMetric(rate/1e9, "GMAC/s")
			b.ReportMetric(best.Seconds()/n*1e9, "ns/token")
			b.ReportMetric(rate*most.Seconds()/(side*side*side), "of-product")
		})
	}
}
