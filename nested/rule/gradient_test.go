package rule

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"atenia/grad"
	"atenia/internal/kernel/dense"
)

// steepPoint is a point with gradients large enough to measure: gates away from
// their limits, tokens of length about one, a random state. At the usual initial
// values most gradients of a memory are too small for differences of the loss, and
// a test would pass for any result of Backward.
func steepPoint[F Float](t testing.TB, v variant, seed uint64) *passage[F] {
	t.Helper()
	const d, tokens = 8, 4
	c := newPassage[F](t, v, d, tokens, seed)
	r := NewRand(seed + 11)
	Uniform(r, c.x, 1.5)
	Param(c.b.Layout, c.p, "b_alpha")[0] = -1.5
	if th := Param(c.b.Layout, c.p, "b_theta"); th != nil {
		th[0] = F(c.b.Bias(Theta, 0)) + 0.5
	}
	c.b.InitState(c.s0, r)
	for _, a := range c.b.State {
		part := State(c.b.Layout, c.s0, a.Name)
		switch {
		case v.name == Lattice:
		case a.Name == "BG":
			for i := range part {
				part[i] = 0.5
			}
		case a.Name == "M" || a.Name == "S" || a.Name == "W2" || a.Name == "A2" || a.Name == "BK" || a.Name == "BV":
			add := make([]F, len(part))
			Uniform(r, add, 0.5)
			dense.Add(part, add)
		}
	}
	return c
}

// kink is how far the nearest error is from where the loss changes its form:
// closer than a difference reaches, there is no derivative to compare with.
func (c *passage[F]) kink() float64 {
	c.forward()
	var grads history[F]
	var m *mlp[F]
	limit := c.b.Config.Delta
	switch r := c.b.Core.(type) {
	case *yaad[F]:
		grads, m = newHistory(c.cache[blockArrays+1], r.m.gradLen()), &r.m
	case *moneta[F]:
		grads, m, limit = newHistory(c.cache[blockArrays+1], r.m.gradLen()), &r.m, c.b.Config.LpClip
	default:
		return math.Inf(1)
	}
	near := math.Inf(1)
	for t := range len(c.x) / c.b.D {
		for _, e := range m.gradStep(grads.at(t)).e {
			near = min(near, math.Abs(math.Abs(float64(e))-limit))
		}
	}
	return near
}

// tolerances of a difference quotient: its step, and the error it may have
// relative to the gradient but at least to floor.
type tolerances struct{ eps, rel, floor float64 }

func tolerancesOf[F Float](v variant) tolerances {
	if F(1)+F(1e-10) == F(1) {
		return tolerances{1e-2, 2e-2, 1e-2}
	}
	if v.name == Atlas && !v.c.NoNS {
		return tolerances{1e-6, 1e-6, 1e-2}
	}
	return tolerances{1e-5, 1e-6, 1e-3}
}

// slopeAt is a central difference of the loss of fourth order.
func slopeAt[F Float](c *passage[F], at *F, eps float64) float64 {
	was := *at
	f := func(step float64) float64 {
		*at = was + F(step)
		return c.loss()
	}
	fd := (8*(f(eps)-f(-eps)) - (f(2*eps) - f(-2*eps))) / (12 * eps)
	*at = was
	return fd
}

// compare checks every gradient of a chunk against
// central differences: how many there are, how many are large enough to be
// measured and how many differ.
func compare[F Float](c *passage[F], v variant, report func(string)) (all, measured, wrong int) {
	c.forward()
	c.backward()
	tol := tolerancesOf[F](v)
	one := func(name string, at, grad []F) {
		for i := range at {
			fd, g := slopeAt(c, &at[i], tol.eps), float64(grad[i])
			all++
			if math.Abs(g) > 1e-3 || math.Abs(fd) > 1e-3 {
				measured++
			}
			if !(math.Abs(fd-g) <= tol.rel*max(math.Abs(g), tol.floor)) {
				wrong++
				report(fmt.Sprintf("%s[%d]: the gradient is %g, a difference of losses %g", name, i, g, fd))
			}
		}
	}
	one("x", c.x, c.dx)
	for _, a := range c.b.Params {
		one(a.Name, Param(c.b.Layout, c.p, a.Name), Param(c.b.Layout, c.dp, a.Name))
	}
	for _, a := range c.b.State {
		one(a.Name, State(c.b.Layout, c.s0, a.Name), State(c.b.Layout, c.ds0, a.Name))
	}
	return all, measured, wrong
}

// gradientVariants are the configurations compared: in float32, whose
// differences need large steps, only those that are smooth over such steps, which
// excludes Newton–Schulz.
func gradientVariants[F Float]() []variant {
	if F(1)+F(1e-10) == F(1) {
		return []variant{{Delta, Config{}}, {Titans, Config{}}, {Hebbian, Config{}}, {Moneta, Config{Hidden: 6}},
			{YAAD, Config{Hidden: 6}}, {MEMORA, Config{Hidden: 6}}, {Lattice, Config{Slots: 4}}, {Trellis, Config{Slots: 4}},
			{Atlas, Config{NoNS: true}}}
	}
	return append([]variant{{Moneta, Config{Hidden: 6, P: 2.5, Q: 3}}, {Trellis, Config{Slots: 4, RawQK: true}},
		{YAAD, Config{Hidden: 6, Form: LnRes, Delta: 0.7}}, {Atlas, Config{Window: 6, NSIters: 2, Feature: Poly2}},
		{Delta, Config{ThetaMin: 0.1, ThetaMax: 3, AlphaMin: 0.01, AlphaMax: 0.9}}}, variants...)
}

// testGradients compares all gradients with central differences, away from
// kinks, and fails if fewer than half can be measured.
func testGradients[F Float](t *testing.T) {
	for _, v := range gradientVariants[F]() {
		seed := uint64(21)
		c := steepPoint[F](t, v, seed)
		for c.kink() < 10*tolerancesOf[F](v).eps {
			seed++
			c = steepPoint[F](t, v, seed)
		}
		all, measured, wrong := compare(c, v, func(s string) { t.Errorf("%v: %s", v, s) })
		t.Logf("%v: %d gradients, %d measured, %d wrong", v, all, measured, wrong)
		if measured < all/2 {
			t.Errorf("%v: only %d of %d gradients can be measured", v, measured, all)
		}
	}
}

// TestClampedGates: a gate at its bound has derivative zero and hands nothing on, whichever
// bound it is, while the gates of other tokens keep their own.
func TestClampedGates(t *testing.T) {
	for _, v := range gradientVariants[float64]() {
		free := v
		free.c.ThetaMin, free.c.ThetaMax, free.c.AlphaMin, free.c.AlphaMax = 0, 0, 0, 0
		c := steepPoint[float64](t, free, 21)
		c.forward()
		n := len(c.x) / c.b.D
		between := func(g Gate) (least, most float64) { // bounds that keep the smallest and the largest from their values
			val := slices.Sorted(slices.Values(c.b.Tokens(n, c.cache).Gate[g]))
			return float64(val[0]+val[1]) / 2, float64(val[n-2]+val[n-1]) / 2
		}
		bound := free
		for _, g := range c.b.Gates {
			switch g {
			case Alpha:
				bound.c.AlphaMin, bound.c.AlphaMax = between(g)
			case Theta:
				bound.c.ThetaMin, bound.c.ThetaMax = between(g)
			}
		}
		c = steepPoint[float64](t, bound, 21)
		all, measured, wrong := compare(c, bound, func(s string) { t.Errorf("%v: %s", bound, s) })
		t.Logf("%v: %d gradients, %d measured, %d wrong", bound, all, measured, wrong)
		in := c.b.Tokens(n, c.cache)
		for _, g := range c.b.Gates {
			if least, most := c.b.bounds(g); most > 0 {
				if got := []float64{slices.Min(in.Gate[g]), slices.Max(in.Gate[g])}; got[0] != least || got[1] != most {
					t.Errorf("%v: %v goes from %g to %g, want its bounds %g and %g", bound, g, got[0], got[1], least, most)
				}
			}
		}
	}
}

// steps is DeltaRule by its definition, token by token with every state kept, and
// with errors planted in its adjoint.
type steps struct {
	linear[float64]
	plant string
	m, e  [][]float64
}

func (r *steps) Forward(_ *grad.Work[float64], in *Tokens[float64], s0, sT, y []float64, _ [][]float64) {
	d := r.d
	r.m, r.e = [][]float64{append([]float64(nil), s0...)}, nil
	for t := range in.T {
		k, v, q := in.row(t, d)
		m, e := append([]float64(nil), r.m[t]...), make([]float64, d)
		dense.MatVec(e, m, k)
		dense.Axpy(e, -1, v)
		dense.ScaleAddOuter(m, 1-in.Gate[Alpha][t], -in.Gate[Theta][t], e, k)
		dense.MatVec(y[t*d:][:d], m, q)
		r.m, r.e = append(r.m, m), append(r.e, e)
	}
	copy(sT, r.m[in.T])
}

func (r *steps) Backward(_ *grad.Work[float64], in *Tokens[float64], _ []float64, _ [][]float64, dy, dsT []float64, g *Tokens[float64], ds0 []float64) {
	d := r.d
	dm := make([]float64, d*d)
	if dsT != nil {
		copy(dm, dsT)
	}
	u, de := make([]float64, d), make([]float64, d)
	for t := in.T - 1; t >= 0; t-- {
		k, _, q := in.row(t, d)
		dk, dv, dq := g.row(t, d)
		rho, th := 1-in.Gate[Alpha][t], in.Gate[Theta][t]
		dense.AddOuter(dm, 1, dy[t*d:][:d], q)
		read := r.m[t+1]
		if r.plant == "stale cache" {
			read = r.m[t]
		}
		dense.MatVecT(dq, read, dy[t*d:][:d])
		g.Gate[Alpha][t] = -dense.Dot(dm, r.m[t])
		if r.plant == "sign of alpha" {
			g.Gate[Alpha][t] *= -1
		}
		dense.MatVec(u, dm, k)
		g.Gate[Theta][t] = -dense.Dot(r.e[t], u)
		scaleTo(de, -th, u)
		scaleTo(dv, -1, de)
		dense.MatVecT(dk, dm, r.e[t])
		dense.Scale(dk, -th)
		if r.plant != "k without M^T e" {
			dense.AddMatVecT(dk, r.m[t], de)
		}
		dense.Scale(dm, rho)
		if r.plant != "M without e k^T" {
			dense.AddOuter(dm, 1, de, k)
		}
	}
	if r.plant == "all zero" {
		for _, a := range [][]float64{g.K, g.V, g.Q, g.Gate[Alpha], g.Gate[Theta]} {
			clear(a)
		}
	}
	if ds0 != nil {
		dense.Add(ds0, dm)
	}
}

// turned is a rule whose alpha has the wrong sign in the adjoint.
type turned struct{ Rule[float64] }

func (r turned) Backward(w *grad.Work[float64], in *Tokens[float64], s0 []float64, cache [][]float64, dy, dsT []float64, g *Tokens[float64], ds0 []float64) {
	r.Rule.Backward(w, in, s0, cache, dy, dsT, g, ds0)
	dense.Scale(g.Gate[Alpha], -1)
}

// testPlanted: the check of gradients notices errors planted in an adjoint; of
// the frozen read, queries that were not normalised.
func testPlanted(t *testing.T) {
	v := variant{Delta, Config{}}
	for plant, least := range map[string]int{"": 0, "all zero": 150, "k without M^T e": 30, "M without e k^T": 30, "sign of alpha": 5, "stale cache": 30} {
		c := steepPoint[float64](t, v, 21)
		clear(c.dsT)
		c.b.Core = &steps{linear: *newLinear[float64](c.b.Layout), plant: plant}
		all, measured, wrong := compare(c, v, func(string) {})
		t.Logf("planted %q: %d of %d gradients are wrong, %d measured", plant, wrong, all, measured)
		if wrong < least || plant == "" && wrong > 0 {
			t.Errorf("planted %q: %d of %d gradients are found wrong, want at least %d", plant, wrong, all, least)
		}
	}
	for _, v := range variants {
		c := steepPoint[float64](t, v, 21)
		c.b.Core = turned{c.b.Core}
		if _, _, wrong := compare(c, v, func(string) {}); wrong < 2 {
			t.Errorf("%v: the sign of alpha is turned, and %d gradients are found wrong", v, wrong)
		}
	}
	c := steepPoint[float64](t, v, 21)
	if wrong := frozenWrong(c, false); wrong != 0 {
		t.Errorf("%d gradients of a frozen read are wrong", wrong)
	}
	if wrong := frozenWrong(c, true); wrong < 50 {
		t.Errorf("queries that were not normalised: only %d gradients are found wrong", wrong)
	}
}

// frozenWrong counts the wrong gradients of a frozen read of x and W_Q, with
// the adjoint of the normalisation or, planted, without.
func frozenWrong(c *passage[float64], plant bool) (wrong int) {
	n, wq := len(c.x)/c.b.D, Param(c.b.Layout, c.p, "W_Q")
	q, norms, y := make([]float64, n*c.b.DK), make([]float64, n), make([]float64, len(c.y))
	loss := func() float64 {
		c.b.Query(c.w, c.x, wq, q, norms)
		c.b.Read(c.w, c.s0, q, y)
		return dense.Dot(y, c.dy)
	}
	loss()
	dq, dx, dwq := make([]float64, len(q)), make([]float64, len(c.x)), make([]float64, len(wq))
	c.b.ReadBack(c.w, c.s0, q, c.dy, dq)
	c.b.Config.RawQK = plant
	c.b.QueryBack(c.w, c.x, wq, q, norms, dq, dx, dwq)
	c.b.Config.RawQK = false
	for _, p := range [][2][]float64{{c.x, dx}, {wq, dwq}} {
		for i := range p[0] {
			was := p[0][i]
			p[0][i] = was + 1e-5
			up := loss()
			p[0][i] = was - 1e-5
			down := loss()
			p[0][i] = was
			if fd := (up - down) / 2e-5; math.Abs(fd-p[1][i]) > 1e-6*max(math.Abs(fd), 1e-3) {
				wrong++
			}
		}
	}
	return wrong
}

// TestSpans: the chunkwise form of DeltaRule is the recurrence, and so is its
// adjoint, over several spans.
func TestSpans(t *testing.T) {
	t.Parallel()
	for _, tokens := range []int{1, span - 1, span, span + 1, 3*span + 5} {
		v := variant{Delta, Config{}}
		a, b := newPassage[float64](t, v, 6, tokens, 77), newPassage[float64](t, v, 6, tokens, 77)
		b.b.Core = &steps{linear: *newLinear[float64](b.b.Layout)}
		for _, c := range []*passage[float64]{a, b} {
			c.forward()
			c.backward()
		}
		what := fmt.Sprint(tokens, " tokens: ")
		close(t, what+"answers", a.y, b.y, 1e-12)
		close(t, what+"state", a.sT, b.sT, 1e-12)
		close(t, what+"gradient of x", a.dx, b.dx, 1e-11)
		close(t, what+"gradient of parameters", a.dp, b.dp, 1e-10)
		close(t, what+"gradient of the state", a.ds0, b.ds0, 1e-11)
	}
}

// TestFirstState: without the gradient of the first state, which training does not
// ask for, all others are as with it.
func TestFirstState(t *testing.T) {
	t.Parallel()
	for _, n := range Names() {
		v := variant{n, Config{}}
		a, b := newPassage[float64](t, v, 6, span+5, 78), newPassage[float64](t, v, 6, span+5, 78)
		b.ds0 = nil
		for _, c := range []*passage[float64]{a, b} {
			c.forward()
			c.backward()
		}
		close(t, string(n)+": gradient of x", a.dx, b.dx, 1e-12)
		close(t, string(n)+": gradient of parameters", a.dp, b.dp, 1e-12)
	}
}
