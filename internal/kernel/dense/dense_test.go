package dense_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"atenia/internal/kernel"
	"atenia/internal/kernel/dense"
	"atenia/internal/machine/pool"
)

func random[F dense.Float](r *rand.Rand, n int) []F {
	x := make([]F, n)
	for i := range x {
		x[i] = F(r.NormFloat64())
	}
	return x
}

func works[F dense.Float](t testing.TB) []*dense.Work[F] {
	p := pool.New(3)
	t.Cleanup(p.Close)
	return []*dense.Work[F]{dense.New[F](nil), dense.New[F](p)}
}

func near[F dense.Float](t *testing.T, what string, got, want []F, tol float64) {
	t.Helper()
	top := 1e-30
	for _, v := range want {
		top = max(top, math.Abs(float64(v)))
	}
	for i, v := range want {
		if d := math.Abs(float64(got[i] - v)); !(d <= tol*top) {
			t.Fatalf("%s: index %d: want %v, got %v", what, i, v, got[i])
		}
	}
}

// TestProducts compares the three orientations, stored and added to the
// destination, in both precisions with sums in float64.
func TestProducts(t *testing.T) {
	t.Parallel()
	t.Run("float32", func(t *testing.T) { testProducts[float32](t, 1e-5) })
	t.Run("float64", func(t *testing.T) { testProducts[float64](t, 1e-13) })
}

func testProducts[F dense.Float](t *testing.T, tol float64) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, s := range [][3]int{{1, 1, 1}, {3, 5, 7}, {16, 16, 16}, {17, 33, 31}, {5, 300, 48}, {40, 513, 20}, {64, 2, 64}} {
		m, k, n := s[0], s[1], s[2]
		a, b, old := random[F](r, m*k), random[F](r, k*n), random[F](r, m*n)
		want, sum := make([]F, m*n), make([]F, m*n)
		for i := range m {
			for j := range n {
				x := 0.0
				for p := range k {
					x += float64(a[i*k+p]) * float64(b[p*n+j])
				}
				want[i*n+j], sum[i*n+j] = F(x), F(x+float64(old[i*n+j]))
			}
		}
		at, bt := transpose(a, m, k), transpose(b, k, n)
		var first [6][]F
		for i, w := range works[F](t) {
			for o, f := range []func(dst []F){
				func(d []F) { w.MulT(d, a, bt, m, k, n) }, func(d []F) { w.AddMulT(d, a, bt, m, k, n) },
				func(d []F) { w.Mul(d, a, b, m, k, n) }, func(d []F) { w.AddMul(d, a, b, m, k, n) },
				func(d []F) { w.TMul(d, at, b, m, k, n) }, func(d []F) { w.AddTMul(d, at, b, m, k, n) },
			} {
				got := slices.Clone(old)
				f(got)
				near(t, fmt.Sprint("product ", o, s), got, [][]F{want, sum}[o%2], tol)
				if i == 0 {
					first[o] = got
				} else if !slices.Equal(got, first[o]) {
					t.Fatalf("product %d %v: threads change bits", o, s)
				}
			}
		}
	}
}

func transpose[F dense.Float](a []F, m, n int) []F {
	out := make([]F, m*n)
	for i := range m {
		for j := range n {
			out[j*m+i] = a[i*n+j]
		}
	}
	return out
}

// A gradient is checked: f writes outputs of some inputs, back adds the
// gradients of the inputs.
type checked[F dense.Float] struct {
	name  string
	sizes []int // of the inputs
	out   int
	f     func(w *dense.Work[F], y []F, x [][]F)
	back  func(w *dense.Work[F], dx [][]F, x [][]F, y, dy []F)
}

func TestGradients(t *testing.T) {
	t.Parallel()
	for _, c := range cases[float64]() {
		t.Run(c.name, func(t *testing.T) {
			for _, w := range works[float64](t) {
				check(t, w, &c)
			}
		})
	}
}

func check(t *testing.T, w *dense.Work[float64], c *checked[float64]) {
	r := rand.New(rand.NewPCG(3, 4))
	var x, dx, dir [][]float64
	for _, n := range c.sizes {
		x, dx, dir = append(x, random[float64](r, n)), append(dx, random[float64](r, n)), append(dir, random[float64](r, n))
	}
	y, dy := make([]float64, c.out), random[float64](r, c.out)
	start := make([][]float64, len(dx))
	for i := range dx {
		start[i] = slices.Clone(dx[i])
	}
	c.f(w, y, x)
	c.back(w, dx, x, y, dy)
	const h = 1e-5
	for i := range x {
		for trial := range 4 {
			d := dir[i]
			if trial > 0 {
				d = random[float64](r, len(d))
			}
			got := 0.0
			for j := range d {
				got += d[j] * (dx[i][j] - start[i][j])
			}
			at := func(s float64) float64 {
				moved := slices.Clone(x)
				moved[i] = slices.Clone(x[i])
				dense.Axpy(moved[i], s, d)
				out := make([]float64, c.out)
				c.f(w, out, moved)
				return dense.Dot(out, dy)
			}
			want := (8*(at(h)-at(-h)) - (at(2*h) - at(-2*h))) / (12 * h)
			if diff := math.Abs(got - want); !(diff <= 1e-7*(1+math.Abs(want))) {
				t.Fatalf("input %d: want %v, got %v", i, want, got)
			}
		}
	}
}

// TestSingle runs everything in float32: every implementation and any number
// of threads yield the same bits, and these are near those of float64.
func TestSingle(t *testing.T) {
	best := kernel.Variant()
	t.Cleanup(func() { kernel.SetVariant(best) })
	want, all := cases[float64](), cases[float32]()
	for i := range all {
		var first [][]float32
		exact := outputs(dense.New[float64](nil), &want[i])
		for _, variant := range kernel.Variants() {
			kernel.SetVariant(variant)
			for _, w := range works[float32](t) {
				got := outputs(w, &all[i])
				if first == nil {
					first = got
				}
				for k := range got {
					if !slices.Equal(got[k], first[k]) {
						t.Errorf("%s: output %d: %s or threads change bits", all[i].name, k, variant)
					}
					near(t, all[i].name, got[k], convert(exact[k]), 1e-4)
				}
			}
		}
	}
}

// outputs returns the results of a case and its gradients. Inputs are the same
// in both precisions.
func outputs[F dense.Float](w *dense.Work[F], c *checked[F]) [][]F {
	r := rand.New(rand.NewPCG(7, 8))
	var x, dx [][]F
	for _, n := range c.sizes {
		v := random[float32](r, n)
		for i, a := range v {
			v[i] = a * 3 // so that functions saturate
		}
		x, dx = append(x, to[F](v)), append(dx, to[F](random[float32](r, n)))
	}
	y, dy := make([]F, c.out), to[F](random[float32](r, c.out))
	c.f(w, y, x)
	c.back(w, dx, x, y, dy)
	return append(dx, y)
}

func to[F dense.Float](x []float32) []F {
	out := make([]F, len(x))
	for i, v := range x {
		out[i] = F(v)
	}
	return out
}

func convert(x []float64) []float32 {
	out := make([]float32, len(x))
	for i, v := range x {
		out[i] = float32(v)
	}
	return out
}

func cases[F dense.Float]() []checked[F] {
	type w = *dense.Work[F]
	type vs = [][]F
	type v = []F
	var out []checked[F]
	for a := dense.Identity; a <= dense.Softplus; a++ {
		out = append(out, checked[F]{fmt.Sprint("activation", a), []int{700}, 700,
			func(w w, y v, x vs) { w.Activate(a, y, x[0]) },
			func(w w, dx, x vs, y, dy v) { w.ActivateBack(a, dx[0], x[0], dy) }})
		out = append(out, checked[F]{fmt.Sprint("gated", a), []int{700, 700}, 700,
			func(w w, y v, x vs) { w.ActivateMul(a, y, x[0], x[1]) },
			func(w w, dx, x vs, y, dy v) { w.ActivateMulBack(a, dx[0], dx[1], x[0], x[1], dy) }})
	}
	out = append(out, checked[F]{"softcap", []int{50}, 50,
		func(w w, y v, x vs) { dense.Softcap(y, x[0], 1.5) },
		func(w w, dx, x vs, y, dy v) { dense.SoftcapBack(dx[0], y, dy, 1.5) }})
	out = append(out, checked[F]{"softmax", []int{5 * 31}, 5 * 31,
		func(w w, y v, x vs) { w.SoftmaxRows(y, x[0], 5, 31) },
		func(w w, dx, x vs, y, dy v) { w.SoftmaxRowsBack(dx[0], y, dy, 5, 31) }})
	inv, mean := make([]F, 200), make([]F, 200)
	for _, offset := range []F{0, 1} {
		out = append(out, checked[F]{fmt.Sprint("rmsnorm", offset), []int{200 * 19, 19}, 200 * 19,
			func(w w, y v, x vs) { w.RMSNorm(y, inv, x[0], x[1], 200, 19, 1e-5, offset) },
			func(w w, dx, x vs, y, dy v) {
				w.RMSNorm(slices.Clone(y), inv, x[0], x[1], 200, 19, 1e-5, offset)
				w.RMSNormBack(dx[0], dx[1], x[0], x[1], inv, dy, 200, 19, offset)
			}})
	}
	out = append(out, checked[F]{"rmsnorm bare", []int{200 * 19}, 200 * 19,
		func(w w, y v, x vs) { w.RMSNorm(y, inv, x[0], nil, 200, 19, 1e-5, 0) },
		func(w w, dx, x vs, y, dy v) { w.RMSNormBack(dx[0], nil, x[0], nil, inv, dy, 200, 19, 0) }})
	out = append(out, checked[F]{"layernorm", []int{200 * 19, 19, 19}, 200 * 19,
		func(w w, y v, x vs) { w.LayerNorm(y, mean, inv, x[0], x[1], x[2], 200, 19, 1e-5) },
		func(w w, dx, x vs, y, dy v) {
			w.LayerNormBack(dx[0], dx[1], dx[2], x[0], x[1], mean, inv, dy, 200, 19)
		}})
	pos := []int32{0, 3, 1, 2}
	r := rand.New(rand.NewPCG(5, 6))
	for _, inter := range []bool{false, true} {
		turn := &dense.Rotation[F]{Cos: random[F](r, 16), Sin: random[F](r, 16), Dim: 10, Half: 4, Interleaved: inter}
		out = append(out, checked[F]{fmt.Sprint("rope", inter), []int{4 * 20}, 4 * 20,
			func(w w, y v, x vs) { w.Rope(y, x[0], 4, 2, turn, pos) },
			func(w w, dx, x vs, y, dy v) { w.RopeBack(dx[0], dy, 4, 2, turn, pos) }})
	}
	lens := []int{5, 1, 40}
	for i, h := range []dense.Heads[F]{
		{Q: 2, KV: 2, Dim: 4, Scale: 0.5}, {Q: 4, KV: 2, Dim: 8, Scale: 0.3, Window: 3},
		{Q: 4, KV: 1, Dim: 4, ValueDim: 6, Scale: 0.7, Softcap: 2}, {Q: 2, KV: 2, Dim: 8, Scale: 0.3, Window: 17, Softcap: 1},
	} {
		vd, lse := h.Dim, make([]F, 46*h.Q)
		if h.ValueDim > 0 {
			vd = h.ValueDim
		}
		out = append(out, checked[F]{fmt.Sprint("attention", i), []int{46 * h.Q * h.Dim, 46 * h.KV * h.Dim, 46 * h.KV * vd}, 46 * h.Q * vd,
			func(w w, y v, x vs) { w.Attention(y, lse, x[0], x[1], x[2], lens, h) },
			func(w w, dx, x vs, y, dy v) {
				w.Attention(slices.Clone(y), lse, x[0], x[1], x[2], lens, h)
				w.AttentionBack(dx[0], dx[1], dx[2], x[0], x[1], x[2], y, lse, dy, lens, h)
			}})
	}
	out = append(out, attentionInBothDirections[F](lens)...)
	for _, s := range [][2]int{{16, 16}, {33, 48}, {7, 5}, {64, 100}} {
		m, n := s[0], s[1]
		out = append(out, checked[F]{fmt.Sprint("matvec", s), []int{m * n, n}, m,
			func(w w, y v, x vs) { dense.MatVec(y, x[0], x[1]) },
			func(w w, dx, x vs, y, dy v) {
				dense.AddOuter(dx[0], 1, dy, x[1])
				dense.AddMatVecT(dx[1], x[0], dy)
			}})
		out = append(out, checked[F]{fmt.Sprint("matvect", s), []int{m * n, m}, n,
			func(w w, y v, x vs) { dense.MatVecT(y, x[0], x[1]) },
			func(w w, dx, x vs, y, dy v) {
				dense.AddOuter(dx[0], 1, x[1], dy)
				dense.AddMatVec(dx[1], x[0], dy)
			}})
		out = append(out, checked[F]{fmt.Sprint("outer", s), []int{m * n, m, n}, m * n,
			func(w w, y v, x vs) { copy(y, x[0]); dense.ScaleAddOuter(y, 0.5, 2, x[1], x[2]) },
			func(w w, dx, x vs, y, dy v) {
				dense.Axpy(dx[0], 0.5, dy)
				dx1, dx2 := make(v, m), make(v, n)
				dense.MatVec(dx1, dy, x[2])
				dense.MatVecT(dx2, dy, x[1])
				dense.Axpy(dx[1], 2, dx1)
				dense.Axpy(dx[2], 2, dx2)
			}})
	}
	targets, sums := []int32{3, -100, 0, 16}, make([]F, 4)
	out = append(out, checked[F]{"cross-entropy", []int{4 * 17}, 1,
		func(w w, y v, x vs) {
			sum, _ := w.CrossEntropy(sums, x[0], targets, 4, 17)
			y[0] = F(sum)
		},
		func(w w, dx, x vs, y, dy v) {
			w.CrossEntropy(sums, x[0], targets, 4, 17)
			w.CrossEntropyBack(dx[0], x[0], sums, targets, 4, 17, dy[0])
		}})
	ids := []int32{2, 0, 2, 4}
	out = append(out, checked[F]{"gather", []int{5 * 200}, 4 * 200,
		func(w w, y v, x vs) { w.Gather(y, x[0], ids, 200) },
		func(w w, dx, x vs, y, dy v) { w.ScatterAdd(dx[0], dy, ids, 200) }})
	return out
}

// attentionInBothDirections is attention to given positions, and to other rows.
func attentionInBothDirections[F dense.Float](lens []int) (out []checked[F]) {
	type v = []F
	type vs = [][]F
	type w = *dense.Work[F]
	see := make([][2]int32, 46) // ranges that are neither causal nor in order
	for i, at := 0, 0; i < len(lens); i++ {
		for k := range lens[i] {
			lo, hi := k-20, k+1
			if k%3 == 1 {
				hi += k % 19
			}
			see[at+k] = [2]int32{int32(max(0, lo)), int32(min(lens[i], hi))}
		}
		at += lens[i]
	}
	keyLens := []int{3, 70, 1}
	for i, h := range []dense.Heads[F]{
		{Q: 2, KV: 2, Dim: 4, Scale: 0.5, See: see}, {Q: 4, KV: 2, Dim: 8, Scale: 0.3, Softcap: 1, See: see},
		{Q: 4, KV: 2, Dim: 8, Scale: 0.3, KeyLens: keyLens},
	} {
		keys, lse := 46, make([]F, 46*h.Q)
		if h.KeyLens != nil {
			keys = 74
		}
		out = append(out, checked[F]{fmt.Sprint("attention in both directions", i), []int{46 * h.Q * h.Dim, keys * h.KV * h.Dim, keys * h.KV * h.Dim}, 46 * h.Q * h.Dim,
			func(w w, y v, x vs) { w.Attention(y, lse, x[0], x[1], x[2], lens, h) },
			func(w w, dx, x vs, y, dy v) {
				w.Attention(slices.Clone(y), lse, x[0], x[1], x[2], lens, h)
				w.AttentionBack(dx[0], dx[1], dx[2], x[0], x[1], x[2], y, lse, dy, lens, h)
			}})
	}
	return out
}

// TestSum compares with the formula, in place too, and for any number of
// threads.
func TestSum(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 8))
	a, b := random[float32](r, 20011), random[float32](r, 20011)
	for _, w := range works[float32](t) {
		got := slices.Clone(a)
		w.Sum(got, got, b, 0.3)
		for i := range got {
			if want := a[i] + float32(0.3*b[i]); got[i] != want {
				t.Fatalf("index %d: want %v, got %v", i, want, got[i])
			}
		}
	}
}
