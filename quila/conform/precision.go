package conform

import (
	"math"

	"atenia/grad"
	"atenia/internal/kernel/dense"
	"atenia/quila/config"
	"atenia/quila/internal/neuron"
	"atenia/quila/internal/weights"
)

// many small halves and a one: their sum is 3 in single precision, and between 1
// and 2 where half precision adds.
const (
	many = 4096
	half = 1. / 2048
)

func sums(t *report) {
	x, ones := make([]float32, many+1), make([]float32, many+1)
	for i := range x {
		x[i], ones[i] = half, 1
	}
	x[0] = 1
	exact := func(what string, got float32) {
		if got != 3 {
			t.Errorf("%s: the sum is %v, want 3", what, got)
		}
	}
	work := grad.NewWork[float32](nil)
	var out [1]float32
	work.MulT(out[:], x, ones, 1, many+1, 1)
	exact("product with a transpose", out[0])
	work.Mul(out[:], x, ones, 1, many+1, 1)
	exact("product", out[0])
	work.TMul(out[:], x, ones, 1, many+1, 1)
	exact("product of a transpose", out[0])
	exact("dot", dense.Dot(x, ones))
	roots := make([]float32, many*2+1) // squares of 2⁻⁶ add up to 2 as well
	for i := range roots {
		roots[i] = 1. / 64
	}
	roots[0] = 1
	exact("squares", float32(dense.SumSquares(roots)))

	logits, shares := make([]float32, many+1), make([]float32, many+1)
	for i := range logits {
		logits[i] = float32(math.Log(half))
	}
	logits[0] = 0
	dense.Softmax(shares, logits)
	t.Within("softmax: 1/3 is off by", math.Abs(float64(shares[0])-1./3), 1e-6)

	const n = 64
	raw := initNormals(n*n, 1)
	wide, narrow := make([]float64, n*n), make([]float32, n*n)
	neuron.Sinkhorn(wide, raw, n, 20, 2)
	neuron.Sinkhorn(narrow, single(raw), n, 20, 2)
	t.Within("Sinkhorn: the difference from float64", gap(narrow, wide)/largest(wide), 2e-6)

	s := tiny(t, 1, func(c *config.Config) { c.NormIn = false })
	recurrences(t, s)
}

// recurrences lets a neuron hear a one and then many small halves: what streams B
// and C and the trace add up over ticks.
func recurrences(t *report, s *subject) {
	d := s.c.D
	w := weights.To[float32](s.w)
	rwkv := w.Of("n.rwkv")
	clear(rwkv)
	for n := range s.c.N { // k = 0 and v = h, which do not decay
		for i := range d {
			rwkv[(n*3*d+2*d+i)*d+i] = 1
		}
	}
	fill := func(name string, x float32) {
		for i := range w.Of(name) {
			w.Of(name)[i] = x
		}
	}
	fill("n.wkv_w", -60)
	fill("n.ssm.a", -60)
	fill("n.ssm.dt_up", 0)
	fill("n.ssm.dt_b", float32(math.Log(math.E-1))) // Δ = 1
	fill("n.ssm.b", 0)
	g := neuron.New[float32](&s.c, s.graph, nil)
	// B·x is 1 if it reads a dimension that is always one.
	b := w.Of("n.ssm.b")
	for n := range s.c.N {
		for k := range s.c.NS {
			b[(n*d+d-1)*s.c.NS+k] = 1
		}
	}
	g.Bind(w)
	state := neuron.NewState[float32](&s.c, 1)
	tick := &neuron.Tick[float32]{HIn: make([]float32, s.c.N*d), Alpha: .9}
	var trace float64
	for i := range many + 1 {
		for j := range tick.HIn {
			tick.HIn[j] = half
			if i == 0 || j%d == d-1 {
				tick.HIn[j] = 1
			}
		}
		seen := &neuron.Trace[float32]{}
		tick.Seen = seen
		g.Step(state, tick)
		trace += float64(seen.Values["conf"][0]) * float64(seen.Values["activation"][0])
	}
	if got := state.Num[0]; got != 3 {
		t.Errorf("stream C: the sum is %v, want 3", got)
	}
	t.Within("stream B: 3 is off by", math.Abs(float64(state.SSM[0])-3), 1e-5)
	t.Within("the trace is off by", math.Abs(float64(state.Trace[0])/trace-1), 1e-5)
}

func products(t *report) {
	const rows = 8
	halves := func(seed uint64) []float32 {
		v := single(initNormals(rows*many, seed))
		for i, x := range v { // eleven bits of mantissa
			bits := math.Float32bits(x)
			v[i] = math.Float32frombits((bits + 1<<12) &^ (1<<13 - 1))
		}
		return v
	}
	a, b := halves(1), halves(2)
	want := make([]float64, rows*rows)
	for i := range rows {
		for j := range rows {
			for k := range many {
				want[i*rows+j] += float64(a[i*many+k]) * float64(b[j*many+k])
			}
		}
	}
	got := make([]float32, rows*rows)
	grad.NewWork[float32](nil).MulT(got, a, b, rows, many, rows)
	var e float64
	for i, x := range got {
		var norm float64 // of what is added
		for k := range many {
			p := float64(a[i/rows*many+k]) * float64(b[i%rows*many+k])
			norm += p * p
		}
		e = math.Max(e, math.Abs(float64(x)-want[i])/math.Sqrt(norm))
	}
	limit := 3e-6 * math.Sqrt(many)
	t.Within("the relative error", e, limit)
	t.Figure("%.1e, at most %.1e; Go has no type of half precision to accumulate in", e, limit)
}
