package grad

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"atenia/internal/golden/await"
)

var (
	start = []float64{0.5, -1.25, 2.0, 0.125, -0.75, 3.0}
	grads = [][]float64{
		{0.1, -0.2, 0.3, 0.0, -0.5, 0.25},
		{-0.05, 0.4, 0.15, 1.0, -0.1, 0.2},
		{0.3, 0.3, -0.6, -0.7, 0.01, -0.02},
	}
)

func to[F Float](x []float64) []F {
	y := make([]F, len(x))
	for i, v := range x {
		y[i] = F(v)
	}
	return y
}

// stepThree steps a 2×3 or 3×2 matrix with the three gradients above.
func stepThree[F Float](t *testing.T, r UpdateRule, lr float64, shape ...int) []F {
	t.Helper()
	p := &Param[F]{Name: "w", Shape: shape, Value: to[F](start), Grad: make([]F, len(start))}
	o, err := NewOptimizer(r, []*Param[F]{p}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range grads {
		copy(p.Grad, to[F](g))
		o.Step(lr, 1)
	}
	return p.Value
}

// Values are torch 2.9.0's in float64: torch.optim.AdamW and SGD with the
// numbers given; Lion and Muon have the formulas of doc.go written in torch
// (Lion: sign; Muon: five rounds of X = aX + (bA + cA²)X with A = X·Xᵀ).
func TestRules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		rule  UpdateRule
		lr    float64
		shape []int
		want  []float64
	}{
		{"AdamW", AdamW{Beta2: 0.95, Decay: 0.1}, 0.01, []int{2, 3}, []float64{0.47926444964867165, -1.2457891959137206, 1.9766766511437484, 0.11624441941820904, -0.7234228457322601, 2.9637930108636485}},
		{"SGD", SGD{}, 0.1, []int{6}, []float64{0.46499999999999997, -1.3, 2.015, 0.09499999999999999, -0.691, 2.957}},
		{"momentum", SGD{Momentum: 0.9}, 0.1, []int{6}, []float64{0.45239999999999997, -1.3018, 1.9502, 0.004999999999999987, -0.5964999999999999, 2.89625}},
		{"Nesterov", SGD{Momentum: 0.9, Nesterov: true}, 0.1, []int{6}, []float64{0.42216, -1.3466200000000002, 1.97018, -0.013000000000000008, -0.5528500000000001, 2.863625}},
		{"Lion", Lion{Decay: 0.1}, 0.01, []int{2, 3}, []float64{0.4885114895, -1.25626373875, 1.9840359879999998, 0.12463537487500001, -0.71778223925, 2.9610389870000002}},
		{"Muon wide", Muon{Decay: 0.1}, 0.02, []int{2, 3}, []float64{0.4942969730012962, -1.2496541207713083, 1.9833160128662188, 0.12462643087063176, -0.7364720674134722, 2.982114838616205}},
		{"Muon tall", Muon{Decay: 0.1}, 0.02, []int{3, 2}, []float64{0.497327553821594, -1.2438038901678856, 1.9849467655747783, 0.11803301250728312, -0.7297884196860907, 2.971953364304262}},
	} {
		for i, x := range stepThree[float64](t, c.rule, c.lr, c.shape...) {
			if math.Abs(x-c.want[i]) > 1e-14 {
				t.Errorf("%s float64 [%d]: %v, want %v", c.name, i, x, c.want[i])
			}
		}
		for i, x := range stepThree[float32](t, c.rule, c.lr, c.shape...) {
			if math.Abs(float64(x)-c.want[i]) > 1e-6 {
				t.Errorf("%s float32 [%d]: %v, want %v", c.name, i, x, c.want[i])
			}
		}
	}
}

// Muon leaves vectors and tables to AdamW, and a rule decays only parameters of
// two axes that are not marked.
func TestWhoIsStepped(t *testing.T) {
	t.Parallel()
	step := func(r UpdateRule, p *Param[float64]) []float64 {
		p.Value, p.Grad = slices.Clone(start), slices.Clone(grads[0])
		o, err := NewOptimizer(r, []*Param[float64]{p}, nil)
		if err != nil {
			t.Fatal(err)
		}
		o.Step(0.01, 1)
		return p.Value
	}
	matrix := func() *Param[float64] { return &Param[float64]{Shape: []int{2, 3}} }
	rest := AdamW{Decay: 0.1}
	plain := step(AdamW{}, matrix())
	for name, p := range map[string]*Param[float64]{"vector": {Shape: []int{6}}, "NoDecay": {Shape: []int{2, 3}, NoDecay: true}} {
		if got := step(rest, p); !slices.Equal(got, plain) {
			t.Errorf("%s decays: %v, want %v", name, got, plain)
		}
	}
	if slices.Equal(step(rest, matrix()), plain) {
		t.Error("a matrix does not decay")
	}
	if got := step(Muon{Rest: rest}, &Param[float64]{Shape: []int{2, 3}, Table: true}); !slices.Equal(got, step(rest, matrix())) {
		t.Errorf("Muon steps a table: %v", got)
	}
	if slices.Equal(step(Muon{Rest: rest}, matrix()), step(rest, matrix())) {
		t.Error("Muon steps a matrix as AdamW does")
	}
	held := matrix()
	held.Hold = true
	if got := step(rest, held); !slices.Equal(got, start) {
		t.Errorf("a held parameter moved: %v", got)
	}
}

func optimRandom(rng *rand.Rand, shapes ...[]int) []*Param[float32] {
	var params []*Param[float32]
	for i, s := range shapes {
		n := 1
		for _, d := range s {
			n *= d
		}
		p := &Param[float32]{Name: fmt.Sprint(i), Shape: s, Value: make([]float32, n), Grad: make([]float32, n)}
		for k := range n {
			p.Value[k], p.Grad[k] = float32(rng.NormFloat64()), float32(rng.NormFloat64())
		}
		params = append(params, p)
	}
	return params
}

var optimRules = map[string]UpdateRule{
	"AdamW": AdamW{Decay: 0.1}, "SGD": SGD{Momentum: 0.9, Nesterov: true, Decay: 0.1}, "Lion": Lion{Decay: 0.1}, "Muon": Muon{Decay: 0.1},
}

// Any number of threads makes the same bits, in the same memory.
func TestThreadsAndAllocations(t *testing.T) {
	shapes := [][]int{{70, 300}, {130, 90}, {9001}, {3, 5, 7}}
	for name, r := range optimRules {
		var want [][]float32
		var norm float64
		for _, threads := range []int{1, 3} {
			p := NewThreads(threads)
			params := optimRandom(rand.New(rand.NewPCG(1, 2)), shapes...)
			o, err := NewOptimizer(r, params, p)
			if err != nil {
				t.Fatal(err)
			}
			m := NewNorm[float32](p)
			for range 3 {
				o.Step(0.01, ClipFactor(m.Of(params), 1))
			}
			if threads == 1 {
				norm = m.Of(params)
				for _, p := range params {
					want = append(want, slices.Clone(p.Value))
				}
			} else if n := m.Of(params); n != norm {
				t.Errorf("%s: norm %v with %d threads, %v with one", name, n, threads, norm)
			}
			for i, p := range params {
				if !slices.Equal(p.Value, want[i]) {
					t.Errorf("%s: %d threads step parameter %d differently", name, threads, i)
				}
			}
			// The least of several runs, since an OS thread that the runtime starts
			// counts as an allocation, too.
			least := math.Inf(1)
			for try := 0; try < 10 && least > 0; try++ {
				least = min(least, await.Allocs(5, func() { o.Step(0.01, ClipFactor(m.Of(params), 1)) }))
			}
			if least > 0 {
				t.Errorf("%s: %v allocations a step", name, least)
			}
			p.Close()
		}
	}
}

func TestNormAndClip(t *testing.T) {
	t.Parallel()
	g := make([]float64, 3*grain+5)
	for i := range g {
		g[i] = 2
	}
	params := []*Param[float64]{{Grad: g}, {Grad: []float64{3}}, {Grad: []float64{1e9}, Hold: true}}
	if got, want := NewNorm[float64](nil).Of(params), math.Sqrt(4*float64(len(g))+9); got != want {
		t.Errorf("norm %v, want %v", got, want)
	}
	for _, c := range [][3]float64{{0.5, 1, 1}, {3, 1, 1 / (3 + 1e-6)}, {3, 0, 1}, {0, 1, 1}} {
		if got := ClipFactor(c[0], c[1]); got != c[2] {
			t.Errorf("Clip(%v, %v) = %v, want %v", c[0], c[1], got, c[2])
		}
	}
	if !math.IsNaN(ClipFactor(math.NaN(), 1)) {
		t.Error("a norm that is no number is hidden")
	}
}

func TestSchedule(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		s    Schedule
		want map[int]float64 // by the formulas of the names
	}{
		{Schedule{Curve: Constant, Warmup: 4}, map[int]float64{0: 0.25, 3: 1, 4: 1, 1000: 1}},
		{Schedule{Curve: Linear, Steps: 10, Warmup: 2, Floor: 0.2}, map[int]float64{0: 0.5, 1: 1, 2: 1, 6: 0.2 + 0.8*0.5, 10: 0.2, 99: 0.2}},
		{Schedule{Curve: Cosine, Steps: 12, Warmup: 4, Floor: 0.1}, map[int]float64{4: 1, 6: 0.1 + 0.9*(1+math.Sqrt2/2)/2, 8: 0.55, 12: 0.1}},
		{Schedule{Curve: WSD, Steps: 20, Warmup: 5, Decay: 4}, map[int]float64{0: 0.2, 5: 1, 15: 1, 16: 1, 18: 0.5, 19: 0.25, 20: 0}},
	} {
		if err := c.s.Check(); err != nil {
			t.Error(err)
		}
		for step, want := range c.want {
			if got := c.s.Share(step); math.Abs(got-want) > 1e-15 {
				t.Errorf("%v at %d: %v, want %v", c.s.Curve, step, got, want)
			}
		}
	}
	for _, s := range []Schedule{{}, {Curve: 9, Steps: 1}, {Steps: 3, Warmup: 4}, {Curve: WSD, Steps: 3}, {Steps: 3, Floor: 2}, {Steps: 3, Warmup: -1}} {
		if err := s.Check(); !errors.Is(err, ErrOptimizer) {
			t.Errorf("%+v: %v", s, err)
		}
	}
	for c := range Curve(len(curveNames)) {
		b, err := c.MarshalText()
		var back Curve
		if err != nil || back.UnmarshalText(b) != nil || back != c {
			t.Errorf("%v is read back as %v", c, back)
		}
	}
	if err := new(Curve).UnmarshalText([]byte("cosin")); !errors.Is(err, ErrOptimizer) {
		t.Error(err)
	}
}

func TestBadRules(t *testing.T) {
	t.Parallel()
	for _, r := range []UpdateRule{nil, AdamW{Beta1: 1}, AdamW{Decay: -1}, AdamW{Epsilon: math.NaN()}, SGD{Nesterov: true}, SGD{Momentum: 2}, Lion{Beta2: -0.1}, Muon{Iterations: -1}, Muon{Rest: AdamW{Beta2: 1}}} {
		if _, err := NewOptimizer[float32](r, nil, nil); !errors.Is(err, ErrOptimizer) {
			t.Errorf("%+v: %v", r, err)
		}
	}
	if _, err := NewOptimizer(AdamW{}, []*Param[float32]{{Shape: []int{2, 2}, Value: make([]float32, 4)}}, nil); !errors.Is(err, ErrOptimizer) {
		t.Errorf("a parameter without a gradient: %v", err)
	}
}

// A gradient that is no number shows in every rule: it must not vanish.
func TestNaNShows(t *testing.T) {
	t.Parallel()
	for name, r := range optimRules {
		p := &Param[float64]{Shape: []int{2, 3}, Value: slices.Clone(start), Grad: []float64{0, 0, math.NaN(), 0, 0, 0}}
		o, err := NewOptimizer(r, []*Param[float64]{p}, nil)
		if err != nil {
			t.Fatal(err)
		}
		o.Step(0.01, 1)
		if !math.IsNaN(p.Value[2]) {
			t.Errorf("%s hides it: %v", name, p.Value)
		}
	}
}

func BenchmarkStep(b *testing.B) {
	for _, name := range []string{"AdamW", "SGD", "Lion", "Muon"} {
		b.Run(name+"/1024x1024", func(b *testing.B) {
			p := NewThreads(2)
			defer p.Close()
			params := optimRandom(rand.New(rand.NewPCG(1, 2)), []int{1024, 1024})
			o, err := NewOptimizer(optimRules[name], params, p)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(4 * len(params[0].Value)))
			for b.Loop() {
				o.Step(1e-3, 1)
			}
		})
	}
}
