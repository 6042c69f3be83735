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

// A drawn is random tokens of one head.
type drawn[F dense.Float] struct {
	k, q, v, g, beta []F
	kd, vd           int
}

func draw[F dense.Float](seed uint64, n, kd, vd int) *drawn[F] {
	r := rand.New(rand.NewPCG(seed, 1))
	fill := func(n int, f func() float64) []F {
		x := make([]F, n)
		for i := range x {
			x[i] = F(f())
		}
		return x
	}
	d := &drawn[F]{kd: kd, vd: vd}
	d.k, d.q = fill(n*kd, r.NormFloat64), fill(n*kd, r.NormFloat64)
	for i := range n {
		for _, x := range [][]F{d.k[i*kd:][:kd], d.q[i*kd:][:kd]} {
			dense.Scale(x, 1/dense.Norm(x))
		}
	}
	d.v = fill(n*vd, r.NormFloat64)
	d.g = fill(n, func() float64 { return -r.ExpFloat64() * 0.3 })
	d.beta = fill(n, r.Float64)
	return d
}

// recurrence computes the definition.
func (d *drawn[F]) recurrence() []F {
	n := len(d.g)
	s, y := make([]F, d.kd*d.vd), make([]F, n*d.vd)
	for t := range n {
		k, q := d.k[t*d.kd:][:d.kd], d.q[t*d.kd:][:d.kd]
		for i := range s {
			s[i] *= F(math.Exp(float64(d.g[t])))
		}
		for j := range d.vd {
			a := F(0)
			for c := range k {
				a += s[c*d.vd+j] * k[c]
			}
			e := d.beta[t] * (d.v[t*d.vd+j] - a)
			for c := range k {
				s[c*d.vd+j] += k[c] * e
				y[t*d.vd+j] += s[c*d.vd+j] * q[c]
			}
		}
	}
	return y
}

// runs computes tokens in calls of the given numbers, the last repeating.
func (d *drawn[F]) runs(w *Delta[F], sizes ...int) []F {
	n := len(d.g)
	y := make([]F, n*d.vd)
	keys, h := make(Keys[F], KeysLen(d.kd)), Cut(make([]F, HeadLen(d.kd, d.vd)), d.kd, d.vd)
	for at := 0; at < n; {
		m := min(sizes[0], n-at, Span-at%Span)
		if len(sizes) > 1 {
			sizes = sizes[1:]
		}
		kq := append(slices.Clone(d.k[at*d.kd:][:m*d.kd]), d.q[at*d.kd:][:m*d.kd]...)
		w.Look(keys, kq, at%Span, m)
		w.Run(h, keys, kq, &Tokens[F]{V: d.v[at*d.vd:], Y: y[at*d.vd:], VStride: d.vd, YStep: d.vd, G: d.g[at:], Beta: d.beta[at:]}, at%Span, m)
		at += m
	}
	return y
}

func TestSpansFollowTheRecurrence(t *testing.T) {
	d := draw[float64](3, 150, 24, 40)
	got, want := d.runs(NewDelta[float64](24, 40), 7, 64), d.recurrence()
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1e-12*(1+math.Abs(want[i])) {
			t.Fatalf("token %d, value %d: got %g, want %g", i/40, i%40, got[i], want[i])
		}
	}
}

// How tokens are divided into calls does not change a bit, also where chains of additions
// are longer than one of the products'.
func TestCallsDoNotShow(t *testing.T) {
	for _, c := range [][2]int{{16, 16}, {128, 128}, {24, 40}, {300, 20}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			d := draw[float32](5, 100, c[0], c[1])
			w := NewDelta[float32](c[0], c[1])
			want := d.runs(w, Span)
			for _, sizes := range [][]int{{1}, {2}, {3}, {5, 1, 30, 7}, {31, 1, 32}} {
				if got := d.runs(w, sizes...); !slices.Equal(got, want) {
					t.Errorf("calls of %d tokens differ", sizes)
				}
			}
		})
	}
}

// BenchmarkDelta reports the definition's multiply-adds (two reads and a write of the
// memory for each token) as a share of the rate of a large product.
func BenchmarkDelta(b *testing.B) {
	const n, kd, vd, heads = 256, 128, 128, 2
	d := draw[float32](5, n, kd, vd)
	w := NewDelta[float32](kd, vd)
	keys := make(Keys[float32], KeysLen(kd))
	hs := [heads]Head[float32]{}
	for i := range hs {
		hs[i] = Cut(make([]float32, HeadLen(kd, vd)), kd, vd)
	}
	y, kq := make([]float32, n*vd), make([]float32, 2*Span*kd)
	product := newProduct()
	best, most := time.Hour, time.Hour
	for b.Loop() {
		start := time.Now()
		for at := 0; at < n; at += Span {
			copy(kq, d.k[at*kd:][:Span*kd])
			copy(kq[Span*kd:], d.q[at*kd:][:Span*kd])
			w.Look(keys, kq, 0, Span)
			for _, h := range hs {
				w.Run(h, keys, kq, &Tokens[float32]{V: d.v[at*vd:], Y: y[at*vd:], VStride: vd, YStep: vd, G: d.g[at:], Beta: d.beta[at:]}, 0, Span)
			}
		}
		best = min(best, time.Since(start))
		start = time.Now()
		product()
		most = min(most, time.Since(start))
	}
	rate := float64(3*n*kd*vd*heads) / best.Seconds()
	b.ReportMetric(rate/1e9, "GMAC/s")
	b.ReportMetric(rate*most.Seconds()/(side*side*side), "of-product")
}

// side is that of the large product.
const side = 256

func newProduct() func() {
	w := dense.New[float32](nil)
	a, b, c := make([]float32, side*side), make([]float32, side*side), make([]float32, side*side)
	r := rand.New(rand.NewPCG(1, 1))
	for i := range a {
		a[i], b[i] = r.Float32(), r.Float32()
	}
	return func() { w.Mul(c, a, b, side, side, side) }
}
