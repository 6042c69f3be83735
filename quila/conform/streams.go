package conform

import (
	"math"
	"slices"

	"atenia/quila/config"
	"atenia/quila/internal/neuron"
)

func micro(t *report) {
	s := tiny(t, 1, nil)
	d, size := s.c.D, s.c.G
	_, seen := s.step(func(k *neuron.Tick[float64]) { k.Phase = 2 })
	groups := d / size
	want := make([]float64, 0, s.c.N*d)
	for n := range s.c.N {
		h, w := seen.Values["h"][n*d:(n+1)*d], s.w.Rows("n.nsa", n)
		qkv := make([]float64, 3*d)
		for i := range qkv {
			for j, x := range h {
				qkv[i] += w[i*d+j] * x
			}
		}
		for i := range groups {
			logits := make([]float64, groups)
			for j := range groups {
				for x := range size {
					logits[j] += qkv[i*size+x] * qkv[d+j*size+x] / math.Sqrt(float64(size))
				}
			}
			weights := softmax(logits)
			for x := range size {
				var sum float64
				for j, p := range weights {
					sum += p * qkv[2*d+j*size+x]
				}
				want = append(want, sum)
			}
		}
	}
	t.Within("open masks: the difference from dense attention", gap(seen.Values["out_a"], want), 1e-12)

	// The weights of dimensions that are not selected have no gradient.
	_, seen = s.step(nil)
	one := tiny(t, 1, nil)
	one.state, one.c.DRCMax = s.state, 1
	grads := one.window(t, 1, neuron.Options[float64]{})["n.nsa"]
	zeros, live := 0, 0
	mask := one.masks(t)
	for i, x := range grads {
		n, j := i/(3*d*d), i%d
		if mask[n*d+j] == 0 {
			zeros++
			if x != 0 {
				t.Fatalf("a weight of dimension %d, which is not selected, has the gradient %v", j, x)
			}
		} else if x != 0 {
			live++
		}
	}
	if zeros == 0 || live == 0 {
		t.Errorf("%d weights of unselected dimensions, %d others with a gradient", zeros, live)
	}

	// Others' states do not matter.
	before := slices.Clone(seen.Values["out_a"][:d])
	other := s.state.Clone()
	for _, f := range other.Fields() {
		for i := f.Width; i < len(f.Values); i++ {
			f.Values[i] = math.Abs(f.Values[i]) + .3
		}
	}
	s.state = other
	_, seen = s.step(nil)
	if gap(before, seen.Values["out_a"][:d]) != 0 {
		t.Errorf("out_A of neuron 0 depends on other neurons' states")
	}
}

// scan is stream B by its formulas, for rows x of neuron n.
func (s *subject) scan(n int, rows [][]float64) []float64 {
	d, ns, dt := s.c.D, s.c.NS, s.c.DT()
	up, down, bias := s.w.Rows("n.ssm.dt_up", n), s.w.Rows("n.ssm.dt_down", n), s.w.Rows("n.ssm.dt_b", n)
	a, b, c, skip := s.w.Rows("n.ssm.a", n), s.w.Rows("n.ssm.b", n), s.w.Rows("n.ssm.c", n), s.w.Rows("n.ssm.skip", n)
	state, out := make([]float64, d*ns), make([]float64, d)
	for _, u := range rows {
		low := make([]float64, dt)
		bt, ct := make([]float64, ns), make([]float64, ns)
		for j, x := range u {
			for k := range low {
				low[k] += down[k*d+j] * x
			}
			for k := range ns {
				bt[k] += b[j*ns+k] * x
				ct[k] += c[j*ns+k] * x
			}
		}
		for i, x := range u {
			pre := bias[i]
			for k, v := range low {
				pre += up[i*dt+k] * v
			}
			delta := math.Log1p(math.Exp(pre))
			out[i] = skip[i] * x
			for k := range ns {
				state[i*ns+k] = math.Exp(-delta*math.Exp(a[i*ns+k]))*state[i*ns+k] + delta*x*bt[k]
				out[i] += state[i*ns+k] * ct[k]
			}
		}
	}
	return out
}

func stateSpace(t *report) {
	s := tiny(t, 1, func(c *config.Config) { c.SSM = "window" })
	d := s.c.D
	check := func(what string) {
		_, seen := s.step(nil)
		for n := range s.c.N {
			var rows [][]float64
			for j := 7; j >= 0; j-- {
				rows = append(rows, s.state.Frames[(n*8+j)*d:(n*8+j+1)*d])
			}
			rows = append(rows, seen.Values["h"][n*d:(n+1)*d])
			want := s.scan(n, rows)
			t.Within(what, gap(seen.Values["out_b"][n*d:(n+1)*d], want)/largest(want), 1e-5)
		}
	}
	check("nine steps: the difference")
	clear(s.state.Frames)
	check("without frames: the difference")
	_, seen := s.step(nil)
	for n := range s.c.N {
		want := s.scan(n, [][]float64{seen.Values["h"][n*d : (n+1)*d]})
		t.Within("without frames: the difference from h alone", gap(seen.Values["out_b"][n*d:(n+1)*d], want), 1e-12)
	}

	long := tiny(t, 1, nil)
	g := neuron.New[float64](&long.c, long.graph, nil)
	g.Bind(long.w)
	tick := &neuron.Tick[float64]{HIn: long.hIn, Alpha: .9}
	var early, late float64
	for i := range 10_000 {
		g.Step(long.state, tick)
		if i == 999 {
			early = largest(long.state.SSM)
		}
	}
	late = largest(long.state.SSM)
	if !(late <= 1.001*early) {
		t.Errorf("the state grows from %g after 1,000 ticks to %g after 10,000", early, late)
	}
	t.Figure("largest state %.3g after 10,000 ticks", late)
}

func recurrence(t *report) {
	s := tiny(t, 1, nil)
	d := s.c.D
	clear(s.state.Num)
	g := neuron.New[float64](&s.c, s.graph, nil)
	g.Bind(s.w)
	const steps = 200
	var ks, vs [][]float64 // [steps][N·D]
	state, seen := s.state, &neuron.Trace[float64]{}
	size := len(state.Num)
	for i := range steps {
		g.Step(state, &neuron.Tick[float64]{HIn: initNormals(len(s.hIn), uint64(300+i)), Alpha: .9, Seen: seen})
		k, v := make([]float64, s.c.N*d), make([]float64, s.c.N*d)
		for n := range s.c.N {
			w, h := s.w.Rows("n.rwkv", n), seen.Values["h"][n*d:(n+1)*d]
			for j := range d {
				for x, y := range h {
					k[n*d+j] += w[(d+j)*d+x] * y
					v[n*d+j] += w[(2*d+j)*d+x] * y
				}
				k[n*d+j] = min(k[n*d+j], s.c.KMax)
			}
		}
		ks, vs = append(ks, k), append(vs, v)
	}
	num, wkv := make([]float64, s.c.N*d), make([]float64, s.c.N*d)
	for j := range num {
		w := -math.Exp(s.w.Of("n.wkv_w")[j])
		for i := range steps {
			age := float64(steps - 1 - i)
			num[j] += math.Exp(age*w+ks[i][j]) * vs[i][j]
			if i == steps-1 {
				wkv[j] += math.Exp(w+ks[i][j]) * vs[i][j]
			} else {
				wkv[j] += math.Exp((age-1)*w+ks[i][j]) * vs[i][j]
			}
		}
	}
	e := max(gap(state.Num, num), gap(seen.Values["wkv"], wkv))
	t.Within("the difference from the closed form", e, 1e-9*largest(num))
	if len(state.Num) != size {
		t.Errorf("the state grew from %d to %d values", size, len(state.Num))
	}
	wild := initNormals(len(s.hIn), 8)
	for i := range wild {
		wild[i] *= 1e3
	}
	s.c.NormIn = false
	loud := neuron.New[float64](&s.c, s.graph, nil)
	loud.Bind(s.w)
	loud.Step(state, &neuron.Tick[float64]{HIn: wild, Alpha: .9, Seen: seen})
	for _, v := range [][]float64{state.Num, state.Den, seen.Values["out_c"]} {
		if m := largest(v); math.IsNaN(m) || math.IsInf(m, 0) {
			t.Errorf("large keys overflow")
		}
	}
	t.Figure("%.1e after %d steps", e/largest(num), steps)
}

func iterations(t *report) {
	for i, conf := range []float32{0, .25, .5, .50001, .65, .8, .80001, 1} {
		if got, want := neuron.Iterations(conf), []int{16, 12, 8, 6, 4, 3, 2, 1}[i]; got != want {
			t.Errorf("n(%v) is %d, want %d", conf, got, want)
		}
	}
	s := tiny(t, 1, func(c *config.Config) { c.DRCMax = 16 })
	for i := range s.state.Conf {
		s.state.Conf[i] = .95
	}
	_, seen := s.step(func(k *neuron.Tick[float64]) { k.Phase = 2 })
	if seen.Counts["drc_n"][0] != 16 || seen.Counts["drc_done"][0] != 16 {
		t.Errorf("phase 2 runs %d of %d iterations, want 16", seen.Counts["drc_done"][0], seen.Counts["drc_n"][0])
	}
}

func stops(t *report) {
	s := tiny(t, 1, func(c *config.Config) { c.DRCMax = 16 })
	d := s.c.D
	set := func(name string, diagonal float64) {
		v := s.w.Of(name)
		clear(v)
		for i := range s.c.N * d {
			v[i*d+i%d] = diagonal
		}
	}
	set("n.drc.pred", 1)
	set("n.drc.corr", .5)
	for i := range s.state.Conf {
		s.state.Conf[i] = .1
	}
	_, seen := s.step(nil)
	for n, done := range seen.Counts["drc_done"] {
		if done != 1 {
			t.Errorf("a fixed point takes neuron %d %d iterations, want 1", n, done)
		}
	}
	// Predicted counts: h is not a fixed point of a rotation's correction.
	copy(s.w.Of("n.drc.pred"), initNormals(s.c.N*d*d, 5))
	for i, x := range s.w.Of("n.drc.pred") {
		s.w.Of("n.drc.pred")[i] = .15 * x
		if i%(d+1) == 0 || i%d == i/d%d {
			s.w.Of("n.drc.pred")[i]++
		}
	}
	_, seen = s.step(nil)
	for n := range s.c.N {
		want, x := s.correct(n, seen.Values["h"][n*d:(n+1)*d], seen.Counts["drc_n"][n])
		if got := seen.Counts["drc_done"][n]; got != want {
			t.Errorf("neuron %d ran %d iterations, want %d", n, got, want)
		}
		t.Within("the difference of the iterate", gap(seen.Values["out_d"][n*d:(n+1)*d], x), 1e-10)
	}

	g := neuron.New[float64](&s.c, s.graph, nil)
	set("n.drc.pred", 1)
	set("n.drc.corr", .5)
	if n := g.Guard(s.w); n != 0 || s.w.Of("n.drc.corr")[0] != .5 {
		t.Errorf("the guard changed %d contractions", n)
	}
	set("n.drc.corr", 2.5)
	if n := g.Guard(s.w); n != s.c.N {
		t.Errorf("the guard found %d of %d", n, s.c.N)
	}
	norm := g.Distance(s.w, 0)
	t.Within("‖I − W_corr·W_pred‖ after the guard", norm, .981)
	t.Figure("guard: 1.5 → %.3f", norm)
}

// correct is stream D by its formula: the iterations executed, and the result.
func (s *subject) correct(n int, h []float64, most int) (done int, x []float64) {
	d := s.c.D
	times := func(m, v []float64) []float64 {
		out := make([]float64, d)
		for i := range out {
			for j, y := range v {
				out[i] += m[i*d+j] * y
			}
		}
		return out
	}
	pred, corr := s.w.Rows("n.drc.pred", n), s.w.Rows("n.drc.corr", n)
	x = slices.Clone(h)
	for done < most {
		e := times(pred, x)
		for i := range e {
			e[i] = h[i] - e[i]
		}
		next := times(corr, e)
		var dot, a, b float64
		for i := range next {
			next[i] += x[i]
			dot, a, b = dot+next[i]*x[i], a+next[i]*next[i], b+x[i]*x[i]
		}
		x = next
		done++
		if dot/math.Sqrt(a*b) > .999 {
			break
		}
	}
	return done, x
}
