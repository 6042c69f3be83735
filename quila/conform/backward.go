package conform

import (
	"math"
	"slices"

	"atenia/grad"
	"atenia/quila/config"
	"atenia/quila/internal/neuron"
)

// window is the gradients by name of Σ weights·(h_final, confidence) over T
// tokens.
func (s *subject) window(t *report, T int, o neuron.Options[float64]) map[string][]float64 {
	_, grads := s.loss(t, T, o, true)
	return grads
}

// loss runs a window on a copy of the state.
func (s *subject) loss(t *report, T int, o neuron.Options[float64], back bool) (float64, map[string][]float64) {
	g := neuron.New[float64](&s.c, s.graph, nil)
	g.Bind(s.w)
	var reg grad.Registry[float64]
	neuron.Register(&reg)
	tape := grad.New(&reg)
	refs := map[string]grad.Ref{}
	for i, spec := range s.w.Specs {
		refs[spec.Name] = tape.Borrow(s.w.At(i), spec.Size())
	}
	state := s.state.Clone()
	out, err := g.Window(tape, refs, state, initNormals(T*state.B*s.c.DE, 70), T, o)
	t.Must(err)
	weigh := func(r grad.Ref, seed uint64) grad.Ref {
		return tape.Sum(tape.Mul(r, tape.Const(initNormals(len(tape.Value(r)), seed), tape.Shape(r)...)))
	}
	loss := tape.Add(weigh(out.X, 71), weigh(out.Conf, 72))
	t.Must(tape.Err())
	value := tape.Value(loss)[0]
	if !back {
		return value, nil
	}
	t.Must(tape.Backward(loss))
	grads := map[string][]float64{}
	for name, r := range refs {
		if v, ok := tape.Grad(r); ok {
			grads[name] = slices.Clone(v)
		}
	}
	return value, grads
}

// masks are what stream A selects in the first tick of a window.
func (s *subject) masks(t *report) []int {
	abg := s.w.Of("port.planner.abg")
	a, b, c := neuron.Shares(5, abg[0], abg[1])
	_, seen := s.step(func(k *neuron.Tick[float64]) { k.Alpha, k.Beta, k.Gamma = a, b, c })
	return seen.Counts["mask"]
}

func differences(t *report) {
	const h = 1e-5
	var worst float64
	tensors := 0
	for _, ssm := range []string{"recurrent", "window"} {
		s := tiny(t, 1, func(c *config.Config) { c.K, c.SSM, c.RhoOn, c.MHCGrad, c.DRCMax = 2, ssm, true, "exact", 4 })
		_, grads := s.loss(t, 1, neuron.Options[float64]{}, true)
		for i, spec := range s.w.Specs {
			got, v := grads[spec.Name], s.w.At(i)
			if got == nil {
				continue
			}
			tensors++
			var most, off float64
			for k := 0; k < len(v); k += max(1, len(v)/5) {
				old := v[k]
				v[k] = old + h
				up, _ := s.loss(t, 1, neuron.Options[float64]{}, false)
				v[k] = old - h
				down, _ := s.loss(t, 1, neuron.Options[float64]{}, false)
				v[k] = old
				want := (up - down) / (2 * h)
				most, off = math.Max(most, math.Abs(want)), math.Max(off, math.Abs(want-got[k]))
			}
			if off > 1e-4*most+1e-8 {
				t.Errorf("%s, %s: off by %.2g of %.2g", ssm, spec.Name, off, most)
			}
			if most > 1e-4 {
				worst = math.Max(worst, off/most)
			}
		}
	}
	t.Figure("%d tensors, worst %.1e", tensors, worst)
}

func backwardSteps(t *report) {
	cosine := func(a, b []float64) float64 {
		var dot, x, y float64
		for i, v := range a {
			dot, x, y = dot+v*b[i], x+v*v, y+b[i]*b[i]
		}
		return dot / math.Sqrt(x*y)
	}

	// Rounded messages: the gradient is that of messages that are not, but for
	// the rounding of the values.
	s := tiny(t, 2, nil)
	plain, rounded := s.window(t, 3, neuron.Options[float64]{}), s.window(t, 3, neuron.Options[float64]{FP8: true})
	for _, name := range []string{"edge.w_out", "edge.kernel", "n.w_in.l"} {
		if c := cosine(plain[name], rounded[name]); !(c > .95) {
			t.Errorf("%s: rounding turns the gradient, cosine %.3f", name, c)
		}
	}

	// Stream D: only executed iterations are differentiated.
	s = tiny(t, 2, func(c *config.Config) { c.DRCMax = 16 })
	d := s.c.D
	for name, x := range map[string]float64{"n.drc.pred": 1, "n.drc.corr": .5} {
		v := s.w.Of(name)
		clear(v)
		for i := range s.c.N * d {
			v[i*d+i%d] = x
		}
	}
	for i := range s.state.Conf {
		s.state.Conf[i] = .45 // nine iterations are allowed, one runs
	}
	many := s.window(t, 1, neuron.Options[float64]{})
	s.c.DRCMax = 1
	for name, want := range s.window(t, 1, neuron.Options[float64]{}) {
		if !slices.Equal(many[name], want) {
			t.Errorf("%s: iterations that did not run have a gradient", name)
		}
	}

	// Sinkhorn: plain is the gradient of H itself; centred C(H ⊙ C(g)).
	s = tiny(t, 2, func(c *config.Config) { c.MHCGrad = "plain" })
	g := s.window(t, 2, neuron.Options[float64]{})["n.mhc"]
	s.c.MHCGrad = "centred"
	centred := s.window(t, 2, neuron.Options[float64]{})["n.mhc"]
	s.c.MHCGrad = "exact"
	exact := s.window(t, 2, neuron.Options[float64]{})["n.mhc"]
	_, seen := s.step(nil)
	for n := range s.c.N {
		h := seen.Values["h_res"][4*n : 4*n+4]
		x := centre(g[4*n : 4*n+4])
		for i := range x {
			x[i] *= h[i]
		}
		t.Within("centred: the difference from C(H ⊙ C(g))", gap(centred[4*n:4*n+4], centre(x)), 1e-12*math.Max(1, largest(g)))
	}
	t.Figure("cosine with the exact gradient: plain %.2f, centred %.2f", cosine(g, exact), cosine(centred, exact))

	// Recall: the library is asked in reverse, with the confidence of the tick.
	s = tiny(t, 1, nil)
	var asked, answered []int
	s.window(t, 2, neuron.Options[float64]{
		Recall: func(n, _ int, mid, kfe []float64) {
			asked = append(asked, n)
			for i := range kfe {
				kfe[i] = mid[i] + .1
			}
		},
		RecallBack: func(n, _ int, conf float64, dMid, dKFE []float64) {
			answered = append(answered, n)
			if len(answered) > s.c.N && conf != s.state.Conf[n] {
				t.Errorf("neuron %d's library hears of confidence %v, want %v", n, conf, s.state.Conf[n])
			}
			if largest(dKFE) == 0 || largest(dMid) != 0 {
				t.Errorf("the gradient of h_kfe is %g, that of h_mid %g already", largest(dKFE), largest(dMid))
			}
			copy(dMid, dKFE)
		},
	})
	if len(asked) != 2*s.c.N || len(answered) != len(asked) {
		t.Errorf("libraries were asked %d times and answered %d, want %d", len(asked), len(answered), 2*s.c.N)
	}
}

// centre subtracts means of rows and columns of a 2×2 matrix and adds the mean.
func centre(x []float64) []float64 {
	m := (x[0] + x[1] + x[2] + x[3]) / 4
	out := make([]float64, 4)
	for i := range 2 {
		for j := range 2 {
			out[2*i+j] = x[2*i+j] - (x[2*i]+x[2*i+1])/2 - (x[j]+x[2+j])/2 + m
		}
	}
	return out
}

// suspicion: the second layer's bias has the gradient t·(1−α)·upstream in one tick
// without a second step, and t = 1 − conf is all that suspicion changes.
func suspicion(t *report) {
	const conf, penalty = .85, .5
	s := tiny(t, 1, func(c *config.Config) { c.CM = "residual" })
	for i := range s.state.Conf {
		s.state.Conf[i] = conf
	}
	base := s.alone(t)
	honest := s.state
	s.state = honest.Clone()
	s.state.Suspect(0, 0, 1)
	for name, v := range s.alone(t) {
		if !slices.Equal(v, base[name]) {
			t.Errorf("%s: a penalty of 1 changes the gradient", name)
		}
	}
	s.state = honest.Clone()
	s.state.Suspect(0, 0, penalty)
	flagged := s.alone(t)
	want := (1 - penalty*conf) / (1 - conf)
	var worst float64
	for i, x := range flagged["cm.f.2.b"] {
		worst = math.Max(worst, math.Abs(x/base["cm.f.2.b"][i]-want))
	}
	t.Within("the ratio of gradients is off by", worst, 1e-9)
	s.state = honest.Clone()
	s.state.Conf[0] = penalty * conf
	for name, v := range s.alone(t) {
		if !slices.Equal(v, flagged[name]) {
			t.Errorf("%s: suspicion does more than lower the confidence", name)
		}
	}
	t.Figure("ratio %.4f as predicted, ± %.0e", want, worst)
}

// alone is the gradients of a tick where neuron 0 is what the loss sees.
func (s *subject) alone(t *report) map[string][]float64 {
	g := neuron.New[float64](&s.c, s.graph, nil)
	g.Bind(s.w)
	var reg grad.Registry[float64]
	neuron.Register(&reg)
	tape := grad.New(&reg)
	refs := map[string]grad.Ref{}
	for i, spec := range s.w.Specs {
		refs[spec.Name] = tape.Borrow(s.w.At(i), spec.Size())
	}
	out, err := g.Window(tape, refs, s.state.Clone(), initNormals(s.c.DE, 70), 1, neuron.Options[float64]{})
	t.Must(err)
	d := make([]float64, s.c.N*s.c.D)
	copy(d, initNormals(s.c.D, 71))
	t.Must(tape.BackwardFrom(out.X, d))
	grads := map[string][]float64{}
	for name, r := range refs {
		if v, ok := tape.Grad(r); ok {
			grads[name] = slices.Clone(v)
		}
	}
	return grads
}
