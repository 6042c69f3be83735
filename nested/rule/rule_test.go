package rule

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"atenia/grad"
	"atenia/internal/golden/await"
	"atenia/internal/kernel/dense"
)

// A variant is a rule with constants other than the defaults.
type variant struct {
	name Name
	c    Config
}

func (v variant) String() string {
	b, _ := v.c.MarshalJSON()
	return string(v.name) + string(b)
}

// variants are the configurations that tests go through.
var variants = []variant{
	{Delta, Config{}}, {Delta, Config{RawQK: true}}, {Titans, Config{}}, {Hebbian, Config{}},
	{Moneta, Config{Hidden: 6}}, {Moneta, Config{Hidden: 6, P: 2, Q: 2, Form: LnRes}},
	{Moneta, Config{Hidden: 6, P: 1.5, Q: 3, LqForm: Literal}},
	{YAAD, Config{Hidden: 6, Delta: 0.4}}, {YAAD, Config{Hidden: 6, Delta: 0.4, LambdaLocal: 0.3}},
	{MEMORA, Config{Hidden: 6}}, {MEMORA, Config{Hidden: 6, Mass1: 2.5, Form: LnRes}},
	{Lattice, Config{Slots: 3}}, {Trellis, Config{Slots: 3}},
	{Atlas, Config{Window: 3}}, {Atlas, Config{Window: 3, NoNS: true}}, {Atlas, Config{Window: 1, NoNS: true, Feature: Poly2}},
}

// A passage is a block with everything that goes into a pass.
type passage[F Float] struct {
	b        *Block[F]
	w        *grad.Work[F]
	x, p, s0 []F
	dy, dsT  []F
	y, sT    []F
	cache    [][]F
	dx, dp   []F
	ds0      []F
}

// newPassage is a chunk of random tokens at a point where gates are not near
// their limits and the state is not zero.
func newPassage[F Float](t testing.TB, v variant, d, tokens int, seed uint64) *passage[F] {
	t.Helper()
	b, err := New[F](v.name, d, v.c)
	if err != nil {
		t.Fatal(err)
	}
	r, n := NewRand(seed), tokens*d
	c := &passage[F]{b: b, w: grad.NewWork[F](nil), x: make([]F, n), p: make([]F, b.ParamLen), s0: make([]F, b.StateLen),
		dy: make([]F, n), dsT: make([]F, b.StateLen), y: make([]F, n), sT: make([]F, b.StateLen),
		dx: make([]F, n), dp: make([]F, b.ParamLen), ds0: make([]F, b.StateLen)}
	Uniform(r, c.x, 1)
	InitParams(b.Layout, c.p, 0, r)
	if th := Param(b.Layout, c.p, "b_theta"); th != nil {
		th[0] = -1
		switch v.name {
		case Moneta:
			th[0] = -3
		case MEMORA:
			th[0] = 1
		}
	}
	c.warm(r)
	Uniform(r, c.dy, 1)
	Uniform(r, c.dsT, 0.5)
	c.cache = b.Cut(nil, tokens, make([]F, b.CacheLen(tokens)))
	return c
}

// warm moves the state away from where it starts.
func (c *passage[F]) warm(r *Rand) {
	c.b.InitState(c.s0, r)
	for _, name := range []string{"M", "S", "W2", "A2", "BK", "BV"} {
		part := State(c.b.Layout, c.s0, name)
		if part == nil || c.b.Rule == Lattice {
			continue
		}
		add := make([]F, len(part))
		Uniform(r, add, 0.3)
		dense.Add(part, add)
	}
	for i := range State(c.b.Layout, c.s0, "BG") {
		State(c.b.Layout, c.s0, "BG")[i] = F(0.4 * float64(i))
	}
}

func (c *passage[F]) forward() { c.b.Forward(c.w, c.x, c.p, c.s0, c.y, c.sT, c.cache) }

func (c *passage[F]) backward() {
	clear(c.dx)
	clear(c.dp)
	clear(c.ds0)
	c.b.Backward(c.w, c.x, c.p, c.s0, c.cache, c.dy, c.dsT, c.dx, c.dp, c.ds0)
}

// loss is the function whose gradient the adjoints compute.
func (c *passage[F]) loss() float64 {
	c.forward()
	l := 0.0
	for i, v := range c.y {
		l += float64(v) * float64(c.dy[i])
	}
	for i, v := range c.sT {
		l += float64(v) * float64(c.dsT[i])
	}
	return l
}

func farthest[F Float](a, b []F) (d float64) {
	if len(a) != len(b) {
		return math.Inf(1)
	}
	for i := range a {
		if e := math.Abs(float64(a[i] - b[i])); !(e <= d) {
			d = e
		}
	}
	return d
}

func close[F Float](t testing.TB, what string, got, want []F, tol float64) {
	t.Helper()
	if d := farthest(got, want); !(d <= tol) {
		t.Errorf("%s: off by %.2g, over %.2g", what, d, tol)
	}
}

// testChunks: two chunks with the state carried are one chunk, also where they
// are cut inside a span; and a pass without a cache has the same bits.
func testChunks(t *testing.T) {
	for i, v := range variants {
		if v.c.LambdaLocal != 0 {
			continue // pulls towards the start of the chunk, by design
		}
		for _, tokens := range []int{6, span + 7, 2*span + 1} {
			if _, ok := newRule[float64](mustLayout(t, v, 4)).(*linear[float64]); !ok && tokens > 6 {
				continue // no spans, and some rules amplify rounding without end
			}
			c := newPassage[float64](t, v, 4, tokens, uint64(4000+i))
			c.forward()
			y, sT := make([]float64, len(c.y)), make([]float64, len(c.sT))
			c.b.Forward(c.w, c.x, c.p, c.s0, y, sT, nil)
			if !slices.Equal(y, c.y) || !slices.Equal(sT, c.sT) {
				t.Errorf("%v: without a cache other bits come out", v)
			}
			for _, cut := range []int{1, 2, tokens - 2} {
				at, mid := cut*4, make([]float64, len(c.sT))
				c.b.Forward(c.w, c.x[:at], c.p, c.s0, y[:at], mid, nil)
				c.b.Forward(c.w, c.x[at:], c.p, mid, y[at:], sT, nil)
				what := fmt.Sprintf("%v, %d tokens cut at %d", v, tokens, cut)
				close(t, what, y, c.y, 1e-13)
				close(t, what+": state", sT, c.sT, 1e-13)
			}
		}
	}
}

func mustLayout(t testing.TB, v variant, d int) *Layout {
	l, err := NewLayout(v.name, d, v.c)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// core is a rule fed with tokens of the test's own.
type core struct {
	b    *Block[float64]
	w    *grad.Work[float64]
	in   Tokens[float64]
	s, y []float64
}

// newCore has random unit keys and queries, alpha about 0.1, theta about 0.5,
// eta 0 and gamma 1.
func newCore(t testing.TB, v variant, d, tokens int, seed uint64) *core {
	t.Helper()
	b, err := New[float64](v.name, d, v.c)
	if err != nil {
		t.Fatal(err)
	}
	r := NewRand(seed)
	c := &core{b: b, w: grad.NewWork[float64](nil), s: make([]float64, b.StateLen), y: make([]float64, tokens*d)}
	c.in = Tokens[float64]{T: tokens, K: make([]float64, tokens*b.DK), Q: make([]float64, tokens*b.DK), V: make([]float64, tokens*d), Code: make([]float64, tokens*b.Code)}
	lengths := make([]float64, tokens)
	for _, a := range [][]float64{c.in.K, c.in.Q, c.in.V, c.in.Code} {
		Uniform(r, a, 1)
	}
	normalize(c.in.K, lengths, b.DK)
	normalize(c.in.Q, lengths, b.DK)
	at := func(mean, spread float64) []float64 {
		g := make([]float64, tokens)
		Uniform(r, g, spread)
		for i := range g {
			g[i] += mean
		}
		return g
	}
	c.in.Gate = [gates][]float64{at(0.1, 0.05), at(0.5, 0.2), at(0, 0), at(1, 0)}
	b.InitState(c.s, r)
	return c
}

func (c *core) run() (y, sT []float64) {
	var lens []int
	lens = c.b.Core.CacheLens(lens, c.in.T, true)
	var cache [][]float64
	for _, n := range lens {
		cache = append(cache, make([]float64, n))
	}
	sT = make([]float64, len(c.s))
	c.b.Core.Forward(c.w, &c.in, c.s, sT, c.y, cache)
	return c.y, sT
}

func fill(n int, v float64) []float64 {
	a := make([]float64, n)
	for i := range a {
		a[i] = v
	}
	return a
}

const reductionWidth, reductionTokens = 4, 40 // longer than a span

// same runs several rules on the tokens of the first, with the first's M.
func same(t *testing.T, tol float64, all ...*core) {
	t.Helper()
	m := State(all[0].b.Layout, all[0].s, "M")
	Uniform(NewRand(8), m, 0.3)
	want, sT := all[0].run()
	for _, c := range all[1:] {
		c.in.K, c.in.V, c.in.Q = all[0].in.K, all[0].in.V, all[0].in.Q
		copy(State(c.b.Layout, c.s, "M"), m)
		y, s := c.run()
		close(t, string(c.b.Rule), y, want, tol)
		close(t, string(c.b.Rule)+": M", State(c.b.Layout, s, "M"), State(all[0].b.Layout, sT, "M"), tol)
	}
}

// TestRule checks the documented properties of the nine rules.
func TestRule(t *testing.T) {
	d, n := reductionWidth, reductionTokens
	one := Config{Window: 1, NoNS: true}
	t.Run("chunk-invariance", testChunks)
	t.Run("titans-is-delta", func(t *testing.T) { // without momentum
		a, b := newCore(t, variant{Delta, Config{}}, d, n, 5), newCore(t, variant{Titans, Config{}}, d, n, 5)
		same(t, 1e-13, a, b)
	})
	t.Run("atlas-is-delta", func(t *testing.T) { // with a window of one, no Newton–Schulz, no momentum
		same(t, 1e-13, newCore(t, variant{Delta, Config{}}, d, n, 5), newCore(t, variant{Atlas, one}, d, n, 5))
	})
	t.Run("atlas-is-titans", func(t *testing.T) { // the same, theta constant
		a, b := newCore(t, variant{Titans, Config{}}, d, n, 5), newCore(t, variant{Atlas, one}, d, n, 5)
		for _, c := range []*core{a, b} {
			c.in.Gate[Eta], c.in.Gate[Theta] = fill(n, 0.7), fill(n, 0.3)
		}
		same(t, 1e-12, a, b)
	})
	t.Run("delta-is-deltanet", func(t *testing.T) { testDeltaNet(t, d, n) })
	t.Run("hebbian-closed-form", func(t *testing.T) { testLinearAttention(t, d, n) })
	t.Run("yaad-is-moneta", func(t *testing.T) { // half the step: Moneta's squares have no 1/2
		a := newCore(t, variant{YAAD, Config{Hidden: 5, Delta: 1e9}}, d, 6, 5)
		b := newCore(t, variant{Moneta, Config{Hidden: 5, P: 2, Q: 2, LpClip: 1e9}}, d, 6, 5)
		Uniform(NewRand(3), a.s, 0.8)
		copy(b.s, a.s)
		dense.Scale(b.in.Gate[Theta], 0.5)
		y, sT := a.run()
		y2, s2 := b.run()
		close(t, "answers", y2, y, 1e-13)
		close(t, "states", s2, sT, 1e-13)
	})
	t.Run("link-q", testLink)
	t.Run("memora-rows", testMEMORARows)
	t.Run("lattice-unit-rows", testLatticeRows)
	t.Run("newton-schulz", testSchulz)
	t.Run("inner-gradients", testInner)
	t.Run("hebbian-recall", testHebbianRecall)
	t.Run("frozen-state", testFrozen)
	t.Run("zero-allocations", testAllocations)
	t.Run("gradcheck-f64", testGradients[float64])
	t.Run("gradcheck-f32", testGradients[float32])
	t.Run("planted-errors", testPlanted)
	t.Run("isolation", testIsolation)
}

// testDeltaNet: with alpha = 0 the state is multiplied by I - theta k k^T, and
// orthonormal keys are recalled exactly.
func testDeltaNet(t *testing.T, d, n int) {
	c := newCore(t, variant{Delta, Config{}}, d, n, 5)
	Uniform(NewRand(8), c.s, 0.3)
	c.in.Gate[Alpha] = fill(n, 0)
	m, want := slices.Clone(c.s), make([]float64, n*d)
	for i := range n {
		k, v, th := c.in.K[i*d:][:d], c.in.V[i*d:][:d], c.in.Gate[Theta][i]
		mk := make([]float64, d)
		dense.MatVec(mk, m, k)
		dense.AddOuter(m, -th, mk, k)
		dense.AddOuter(m, th, v, k)
		dense.MatVec(want[i*d:][:d], m, c.in.Q[i*d:][:d])
	}
	y, sT := c.run()
	close(t, "answers", y, want, 1e-13)
	close(t, "M", sT, m, 1e-13)

	c = newCore(t, variant{Delta, Config{}}, d, d, 6)
	clear(c.in.K)
	for i := range d {
		c.in.K[i*d+i] = 1
	}
	c.in.Gate[Alpha], c.in.Gate[Theta] = fill(d, 0), fill(d, 1)
	_, sT = c.run()
	for i := range d {
		for j := range d {
			if math.Abs(sT[i*d+j]-c.in.V[j*d+i]) > 1e-14 {
				t.Errorf("M[%d,%d] is %g, want %g", i, j, sT[i*d+j], c.in.V[j*d+i])
			}
		}
	}
}

// testLinearAttention: with alpha = 0 Hebbian is tril(Q K^T) V.
func testLinearAttention(t *testing.T, d, n int) {
	c := newCore(t, variant{Hebbian, Config{}}, d, n, 5)
	c.in.Gate[Alpha] = fill(n, 0)
	want := make([]float64, n*d)
	for i := range n {
		for j := range i + 1 {
			a := dense.Dot(c.in.Q[i*d:][:d], c.in.K[j*d:][:d])
			dense.Axpy(want[i*d:][:d], a, c.in.V[j*d:][:d])
		}
	}
	y, _ := c.run()
	close(t, "answers", y, want, 1e-13)
}

// testLink: q = 2 is the identity; the minimiser has degree one, and its
// inverse is that of the conjugate exponent.
func testLink(t *testing.T) {
	a, b, c := make([]float64, 12), make([]float64, 12), make([]float64, 12)
	Uniform(NewRand(2), a, 1)
	linkMap[float64]{Q: 2, Dual: true}.Apply(b, a)
	close(t, "q = 2", b, a, 0)
	for _, q := range []float64{3, 4, 2.5} {
		l := linkMap[float64]{Q: q, Dual: true}
		l.Apply(b, a)
		linkMap[float64]{Q: q / (q - 1), Dual: true}.Apply(c, b)
		close(t, "inverse", c, a, 1e-14)
		scaleTo(c, 3, a)
		l.Apply(c, c)
		dense.Scale(b, 3)
		close(t, "degree", c, b, 1e-14)
	}
}

func testMEMORARows(t *testing.T) {
	c := newPassage[float64](t, variant{MEMORA, Config{Hidden: 6}}, 4, 6, 9)
	c.forward()
	for name, n := range map[string]int{"L1": 4, "L2": 6} {
		l := State(c.b.Layout, c.sT, name)
		for i := range len(l) / n {
			total := 0.0
			for _, v := range l[i*n:][:n] {
				total += math.Exp(v)
			}
			if math.Abs(total-1) > 1e-13 {
				t.Errorf("row %d of %s sums to %g", i, name, total)
			}
		}
	}
}

// testLatticeRows: slots stay on the sphere, steps are tangent to it, and no
// slot is shorter than the retention before it is normalised.
func testLatticeRows(t *testing.T) {
	const d, m = 4, 3
	c := newPassage[float64](t, variant{Lattice, Config{Slots: m}}, d, 6, 9)
	c.forward()
	r := c.b.Core.(*lattice[float64])
	k := r.cache(c.cache[blockArrays:])
	in := c.b.Tokens(6, c.cache)
	for i := range 6 {
		s, res, b := k.states.at(i), k.r.at(i), k.b.at(i)
		for j := range m {
			row := s[j*d:][:d]
			if e := dense.Norm(row); math.Abs(e-1) > 1e-13 {
				t.Errorf("token %d: slot %d has length %g", i, j, e)
			}
			u := slices.Clone(res)
			dense.Axpy(u, -b[j], row)
			if e := dense.Dot(u, row); math.Abs(e) > 1e-13 {
				t.Errorf("token %d: the step of slot %d leaves the sphere by %g", i, j, e)
			}
			if n, rho := k.norms.at(i)[j], 1-in.Gate[Alpha][i]; n < rho-1e-12 {
				t.Errorf("token %d: slot %d has length %g before it is normalised, less than %g", i, j, n, rho)
			}
		}
	}
}

// testSchulz: five iterations bring singular values near one: for orthonormal
// rows U of the singular vectors, |X^T x| is between the bounds for every x.
func testSchulz(t *testing.T) {
	const d = 8
	for seed := range uint64(20) {
		n := newNewtonSchulz[float64](d, d, 5)
		s, xs := make([]float64, d*d), make([]float64, n.Iterates()*d*d)
		Uniform(NewRand(seed), s, 1)
		n.Apply(grad.NewWork[float64](nil), xs, s)
		least, most := singular(xs[5*d*d:], d)
		if most > 1.25 || least < 0.05 {
			t.Errorf("seed %d: singular values from %.3f to %.3f", seed, least, most)
		}
		if l0, _ := singular(s, d); l0 > 0.3 && least < 0.6 {
			t.Errorf("seed %d: the smallest singular value went from %.3f to %.3f", seed, l0, least)
		}
	}
}

// singular returns the extreme singular values of x by Jacobi rotations.
func singular(x []float64, d int) (least, most float64) {
	a := slices.Clone(x)
	for range 30 {
		for i := range d {
			for j := i + 1; j < d; j++ {
				p, q := a[i*d:][:d], a[j*d:][:d]
				pp, qq, pq := dense.Dot(p, p), dense.Dot(q, q), dense.Dot(p, q)
				if math.Abs(pq) < 1e-15 {
					continue
				}
				z := (qq - pp) / (2 * pq)
				tan := 1 / (math.Abs(z) + math.Sqrt(1+z*z))
				if z < 0 {
					tan = -tan
				}
				cos := 1 / math.Sqrt(1+tan*tan)
				for l := range d {
					u, v := p[l], q[l]
					p[l], q[l] = cos*(u-tan*v), cos*(tan*u+v)
				}
			}
		}
	}
	least = math.Inf(1)
	for i := range d {
		l := dense.Norm(a[i*d:][:d])
		least, most = min(least, l), max(most, l)
	}
	return least, most
}

// testFrozen: a read gives the answer to the last token of an active level, does
// not change the state, and treats all queries alike.
func testFrozen(t *testing.T) {
	for i, v := range variants {
		const d, tokens = 5, 3
		c := newPassage[float64](t, v, d, tokens, uint64(100+i))
		c.forward()
		before := slices.Clone(c.sT)
		q, norms, y := make([]float64, tokens*c.b.DK), make([]float64, tokens), make([]float64, tokens*d)
		c.b.Query(c.w, c.x, Param(c.b.Layout, c.p, "W_Q"), q, norms)
		close(t, v.String()+": queries", q, c.b.Tokens(tokens, c.cache).Q, 1e-15)
		c.b.Read(c.w, c.sT, q, y)
		close(t, v.String()+": last answer", y[(tokens-1)*d:], c.y[(tokens-1)*d:], 1e-12)
		dq := make([]float64, len(q))
		c.b.ReadBack(c.w, c.sT, q, c.dy, dq)
		if !slices.Equal(before, c.sT) {
			t.Errorf("%v: a read has changed the state", v)
		}
	}
}

// testAllocations: chunks after the first do not allocate.
func testAllocations(t *testing.T) {
	for i, v := range variants {
		c := newPassage[float32](t, v, 8, 40, uint64(i))
		n := await.Allocs(3, func() {
			c.forward()
			c.backward()
			c.b.Forward(c.w, c.x, c.p, c.s0, c.y, c.sT, nil)
		})
		if n != 0 {
			t.Errorf("%v: %g allocations a chunk", v, n)
		}
	}
}
