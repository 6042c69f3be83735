package conform

import (
	"math"
	"slices"

	"atenia/quila/config"
	"atenia/quila/internal/call"
	"atenia/quila/internal/grid"
	"atenia/quila/internal/neuron"
	"atenia/quila/internal/weights"
)

func refractoryTable(t *report) {
	c, err := config.Profile("micro")
	t.Must(err)
	confs := []float64{0, .1, 1. / 3, .34, .5, 2. / 3, .67, .99, 1}
	want := []int32{4, 3, 3, 2, 2, 2, 1, 1, 1}
	for i, v := range confs {
		if got := neuron.Refractory(&c, float32(v)); got != want[i] {
			t.Errorf("confidence %v: %d ticks, want %d", v, got, want[i])
		}
	}
}

func activeCap(t *report) {
	c, err := config.Profile("small")
	t.Must(err)
	s := grid.NewSchedule(&c)
	draws := make([]uint32, c.N)
	copy(draws, weights.Stream{Seed: 1, Site: weights.Play}.Words(c.N))
	utility, rests := make([]float32, c.N), make([]int32, c.N)
	for i, w := range draws {
		utility[i] = float32(math.Exp(-math.Log(1e6) * float64(w) * 0x1p-32))
	}
	most, worst := 0, int32(0)
	for k := range 200 {
		for n := range c.N {
			s.Arrive(n, uint64(k+1))
		}
		most = max(most, len(s.Choose(rests, utility)))
		worst = max(worst, slices.Max(s.Waited))
	}
	t.Within("neurons that fire at a tick", float64(most), 195)
	t.Within("ticks that an eligible neuron waits", float64(worst), float64(c.WaitMax)+math.Ceil(1/c.ActiveCap))
	x := newWorld(t, "micro", 1, sparse, nil)
	r := x.Start()
	for k := range 20 {
		before := slices.Clone(r.Channels.Firings)
		x.Token(t, k, grid.Options{}, r)
		fired := 0
		for n, f := range r.Channels.Firings {
			fired += int(f - before[n])
		}
		if fired > x.C.K*r.Schedule.Most() {
			t.Errorf("token %d: %d firings in %d ticks", k, fired, x.C.K)
		}
	}
	t.Figure("at most %d fire, %d ticks the longest wait", most, worst)
}

// trial is one tick of a fresh grid over a state, with its masks.
func trial(x *world, st *neuron.State[float32], phase int) (mask, iterations []int) {
	g := neuron.New[float32](&x.C, x.Graph, nil)
	g.Bind(x.W)
	in := normal(x.C.N*x.C.D, 4)
	var seen neuron.Trace[float32]
	g.Step(st.Clone(), &neuron.Tick[float32]{HIn: in, Phase: phase, Alpha: .9, Beta: .05, Gamma: .05, Seen: &seen})
	return seen.Counts["mask"], seen.Counts["drc_n"]
}

func unity(t *report) {
	x := newWorld(t, "nano", 1, nil, nil)
	d := x.C.D
	st := neuron.NewState[float32](&x.C, 1)
	for i, f := range st.Fields() {
		copy(f.Values, normal(len(f.Values), uint64(10+i)))
	}
	for i := range st.Conf {
		st.Conf[i] = .6
	}
	for i := range st.UDim {
		st.UDim[i], st.HDim[i] = float32(math.Abs(float64(st.UDim[i])))/float32(d), float32(math.Abs(float64(st.HDim[i])))
	}
	base, _ := trial(x, st, 5)
	for n := range x.C.N { // the selection is that of the schedule and the ports
		score := make([]float32, d)
		for j := range score {
			score[j] = float32(.9)*float32(d)*st.UDim[n*d+j] + float32(.05)*st.HDim[n*d+j]
		}
		want := make([]int, d)
		for _, j := range neuron.Top(nil, score, x.C.MicroK(), nil) {
			want[j] = 1
		}
		if !slices.Equal(base[n*d:(n+1)*d], want) {
			t.Errorf("neuron %d selects other dimensions than the schedule's function", n)
		}
	}
	for i, f := range st.Fields() {
		other := st.Clone()
		v := other.Fields()[i].Values
		slices.Reverse(v)
		mask, _ := trial(x, other, 5)
		used := f.Name == "u_dim" || f.Name == "h_dim"
		if f.Name == "conf" {
			continue // all equal
		}
		if slices.Equal(mask, base) == used {
			t.Errorf("another %s changes the masks: %v", f.Name, !used)
		}
	}
	weight, trace, ptrace := normal(12, 1), normal(12, 2), normal(12, 3)
	for i := range weight {
		weight[i], trace[i], ptrace[i] = weight[i]*weight[i]/12, trace[i]*trace[i], ptrace[i]*ptrace[i]
	}
	pick := func(w, s, p []float32) []int32 {
		u := make([]float32, len(w))
		neuron.Utilities(u, w, divided(s), divided(p), .2, .4, .4)
		return neuron.TopK(nil, u, 4, nil)
	}
	first := pick(weight, trace, ptrace)
	for i := range 3 {
		changed := false
		for r := 1; r < 12; r++ {
			in := [3][]float32{weight, trace, ptrace}
			in[i] = append(slices.Clone(in[i][r:]), in[i][:r]...)
			changed = changed || !slices.Equal(pick(in[0], in[1], in[2]), first)
		}
		if !changed {
			t.Errorf("input %d never changes a port's mask", i)
		}
	}
	// The schedule ranks by utility alone.
	c := x.C
	c.ActiveCap = .25
	s := grid.NewSchedule(&c)
	rests := make([]int32, c.N)
	for n := range c.N {
		s.Arrive(n, 1)
	}
	if got := s.Choose(rests, []float32{.1, .9, .9, .2, .95, 0, 0, 0}); !slices.Equal(got, []int32{1, 4}) {
		t.Errorf("%v fire, want 1 and 4", got)
	}
}

// divided is a trace by its mean.
func divided(v []float32) []float32 {
	out := make([]float32, len(v))
	neuron.DivideByMean(out, v, len(v))
	return out
}

func phaseTwo(t *report) {
	x := newWorld(t, "nano", 1, func(c *config.Config) { c.DRCMax = 16 }, nil)
	mask, n := trial(x, neuron.NewState[float32](&x.C, 1), 2)
	if slices.Contains(mask, 0) {
		t.Errorf("a mask is not open")
	}
	for i, k := range n {
		if k != 16 {
			t.Errorf("neuron %d iterates %d times", i, k)
		}
	}
	a, b := x.Start(), x.Start()
	x.Token(t, 0, grid.Options{Phase: 2}, a)
	x.Token(t, 0, grid.Options{Phase: 5}, b)
	for i, s := range map[int]*grid.Session{2: a, 1: b} {
		st := s.State()
		for n, got := range st.Trace {
			want := float64(i) * float64(st.Conf[n]) * meanAbs(st.Hidden[n*x.C.D:][:x.C.D])
			if math.Abs(float64(got)-want) > 1e-5*want {
				t.Errorf("weight %d: the trace of %d is %v, want %v", i, n, got, want)
			}
		}
	}
	// A call reflects without a code: its need vector is W_need of the mean h_final
	// of a tick that hears nothing from the boundary.
	m, err := call.New(&x.C, x.Graph, x.W, nil)
	t.Must(err)
	k := m.Start(1)
	t.Must(k.Say(7, 0))
	need, err := k.Reflect()
	t.Must(err)
	s := x.Start()
	x.Token(t, 6, grid.Options{Quiet: true}, s) // its seed is 1: code 7
	t.Must(x.G.Tick([]*grid.Session{s}, grid.Options{Phase: 2, Quiet: true}))
	h, d := s.State().HFinal, x.C.D
	want := make([]float32, x.C.DE)
	for i := range want {
		var sum float64
		for j, w := range x.W.Of("head.need")[i*d : (i+1)*d] {
			for n := range x.C.N {
				sum += float64(w) * float64(h[n*d+j]) / float64(x.C.N)
			}
		}
		want[i] = float32(sum)
	}
	if len(need) != x.C.DE {
		t.Fatalf("the need vector has %d values, want D_e = %d", len(need), x.C.DE)
	}
	t.Within("error of the need vector", furthestOf(need, want), 1e-4*max(1, meanAbs(want)))
	t.Figure("need vector of %d, 16 iterations, twice the trace", len(need))
}

func traceLaw(t *report) {
	c, err := config.Profile("nano")
	t.Must(err)
	c.EtaLambda = 0
	tr := grid.NewCredit(&c, 1)
	a, u := make([]float64, grid.Groups*c.N), make([]float64, c.N)
	for i := range a {
		a[i] = 2
	}
	for range 5000 {
		tr.Update(a, u)
	}
	t.Within("error of a/(1−λ)", math.Abs(tr.Neuron(3)-2/(1-c.LambdaInit)), 1e-9)
	// An edge's trace has the target's rate, and shares are of the grid's mean.
	for range 5000 {
		tr.Send(0, 3, 1)
	}
	t.Within("error of an edge's 1/(1−λ)", math.Abs(tr.Edge[0]-1/(1-c.LambdaInit)), 1e-9)
	var shares float64
	tr.Trace[int(grid.MHC)*c.N] *= 3
	for n := range c.N {
		shares += tr.Share(grid.MHC, n)
	}
	t.Within("error of the shares' sum", math.Abs(shares-float64(c.N)), 1e-9)
	c.EtaLambda = 10
	wild := grid.NewCredit(&c, 1)
	low, high := 1.0, 0.0
	values := make([]float64, len(a))
	for k := range 200 {
		weights.Stream{Seed: 3, Tick: uint64(k)}.Normal(values)
		weights.Stream{Seed: 4, Tick: uint64(k)}.Normal(u)
		wild.Update(values, u)
		low, high = min(low, slices.Min(wild.Lambda)), max(high, slices.Max(wild.Lambda))
	}
	if low < .8 || high > .999 || low > .801 || high < .998 {
		t.Errorf("λ goes from %v to %v", low, high)
	}
	// A million positions keep nothing but two numbers a group.
	size := cap(tr.Trace) + cap(tr.Lambda) + cap(tr.Edge)
	for range 1_000_000 / c.N {
		tr.Update(a, u)
	}
	if got := cap(tr.Trace) + cap(tr.Lambda) + cap(tr.Edge); got != size || math.IsNaN(tr.Neuron(0)) {
		t.Errorf("after a million positions %d values instead of %d", got, size)
	}
	x := newWorld(t, "nano", 1, nil, nil)
	for n := range x.C.N {
		x.G.Baseline().State.PTrace[n] = float32(n)
	}
	before := slices.Clone(x.G.Baseline().State.PTrace)
	s := x.Start()
	for k := range 10 {
		x.Token(t, k, grid.Options{}, s)
	}
	if unequal(before, s.State().PTrace) >= 0 || unequal(before, x.G.Baseline().State.PTrace) >= 0 || unequal(before, s.State().Trace) < 0 {
		t.Errorf("inference changed the persistent trace, or not the session's")
	}
}

func tracePhase(t *report) {
	x := newWorld(t, "nano", 1, func(c *config.Config) { c.SSM = "window" }, nil)
	d := x.C.D
	for _, v := range []struct {
		phase  int
		band   grid.Band
		weight float64
	}{{1, grid.Low, .1}, {1, grid.Medium, 1}, {1, grid.High, 1.2}, {2, 0, 2}, {3, grid.High, 1.5}, {3, grid.Medium, 1}, {3, grid.Low, 0}, {4, 0, 1}, {5, 0, 1}, {6, 0, 1}} {
		s := x.Start()
		x.Token(t, 0, grid.Options{Quiet: true}, s)
		before := s.State()
		t.Must(s.Inject(0, x.Code(1)))
		t.Must(x.G.Tick([]*grid.Session{s}, grid.Options{Phase: v.phase, Band: v.band, Quiet: true}))
		after := s.State()
		for n := range x.C.N {
			conf, h := after.Conf[n], after.Hidden[n*d:][:d]
			if v.phase == 1 && v.band == grid.Low { // step 3's h is the newest frame, the confidence is the old one
				h = after.Frames[n*after.Depth*d:][:d]
				if unequal(after.Hidden[n*d:][:d], before.Hidden[n*d:][:d]) >= 0 || unequal(h, before.Frames[n*before.Depth*d:][:d]) < 0 {
					t.Errorf("the band low changes more than the frame")
				}
			}
			want := v.weight * float64(conf) * meanAbs(h)
			got := float64(after.Trace[n]) - float64(before.Trace[n])
			if math.Abs(got-want) > 1e-5*(1+want) {
				t.Errorf("phase %d, band %d: neuron %d gains %v, want %v", v.phase, v.band, n, got, want)
			}
		}
	}
	t.Figure("ten phases and bands")
}

func lambda(t *report) {
	c, err := config.Profile("micro")
	t.Must(err)
	tr := grid.NewCredit(&c, 0)
	n := grid.Groups * c.N
	a, u := make([]float64, n), make([]float64, c.N)
	for k := range 1000 {
		for i, w := range (weights.Stream{Seed: 5, Tick: uint64(k), Site: weights.Play}).Words(n + c.N) {
			v := float64(w) * 0x1p-32
			if i < n {
				a[i] = v
			} else {
				u[i-n] = v
			}
		}
		tr.Update(a, u)
	}
	t.Within("drift of the mean λ", math.Abs(tr.Rate()-c.LambdaInit), .01)
	if slices.Min(tr.Lambda) == slices.Max(tr.Lambda) {
		t.Errorf("λ never moved")
	}
	t.Figure("mean λ %.4f", tr.Rate())
}
