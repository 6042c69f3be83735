package conform

import (
	"math"
	"slices"

	"atenia/quila/config"
	"atenia/quila/internal/grid"
	"atenia/quila/internal/neuron"
	"atenia/tensor"
)

// worn makes a baseline that is not all zeros, as a file has it.
func worn(x *world) {
	b := x.G.Baseline()
	for i := range b.Channels.History {
		b.Channels.History[i] = float32(i%7) / 7
	}
	for i := range b.Channels.Neighbour {
		b.Channels.Neighbour[i] = float32(i%5) / 5
		b.State.Momentum[i] = float32(i%3) / 3
		b.State.UDim[i] = float32(i%11) / 11
	}
	for n := range x.C.N {
		b.State.Utility[n], b.Channels.Activation[n] = float32(n)/9, float32(n)/8
	}
	copy(b.State.Frames, normal(len(b.State.Frames), 3))
}

func gridBaseline(t *report) {
	x := newWorld(t, "micro", 1, crowded, nil)
	worn(x)
	s, first := x.Start(), x.Start()
	for k := range 4 {
		x.Token(t, k, grid.Options{}, s)
	}
	if doDifference(s, first) == "" {
		t.Errorf("a call changed nothing")
	}
	s.Reset()
	if d := doDifference(s, first); d != "" {
		t.Errorf("call 2 begins with another %s than call 1", d)
	}
	b, st := x.G.Baseline(), s.State()
	for name, pair := range map[string][2][]float32{
		"S3 frames": {st.Frames, b.State.Frames}, "S3 momentum": {st.Momentum, b.State.Momentum}, "S8 utility": {st.Utility, b.State.Utility},
		"S8 u_dim": {st.UDim, b.State.UDim}, "S1 history": {s.Channels.History, b.Channels.History}, "S6 neighbour": {s.Channels.Neighbour, b.Channels.Neighbour},
	} {
		if unequal(pair[0], pair[1]) >= 0 {
			t.Errorf("%s is not the baseline's", name)
		}
	}
}

func survives(t *report) {
	x := newWorld(t, "nano", 1, func(c *config.Config) { c.RhoOn = true }, nil)
	worn(x)
	s, fresh := x.Start(), x.Start()
	x.Token(t, 0, grid.Options{}, s)
	st, old := s.State(), fresh.State()
	for name, pair := range map[string][2][]float32{
		"S1": {s.Channels.Activation, fresh.Channels.Activation}, "S3": {st.Frames, old.Frames}, "S6": {s.Channels.Load, fresh.Channels.Load}, "S8": {st.Utility, old.Utility},
		"S2.ssm_state": {st.SSM, old.SSM}, "S2.residual": {st.Residual, old.Residual}, "S2.num": {st.Num, old.Num}, "S5.confidence": {st.Conf, old.Conf},
	} {
		if unequal(pair[0], pair[1]) < 0 {
			t.Errorf("%s is the baseline's after a tick", name)
		}
	}
	// What survives is used: without it the next tick differs.
	for name, wipe := range map[string]func(st *neuron.State[float32]){
		"S2.ssm_state": func(st *neuron.State[float32]) { clear(st.SSM) }, "S2.residual": func(st *neuron.State[float32]) { clear(st.Residual) },
		"S2.num": func(st *neuron.State[float32]) { clear(st.Num) }, "S3": func(st *neuron.State[float32]) { clear(st.Frames) },
		"S5.confidence": func(st *neuron.State[float32]) {
			for i := range st.Conf {
				st.Conf[i] = .95
			}
		},
	} {
		a, b := x.Start(), x.Start()
		x.Token(t, 0, grid.Options{}, a)
		x.Token(t, 0, grid.Options{}, b)
		changed := b.State()
		wipe(changed)
		b.SetState(changed)
		x.Token(t, 1, grid.Options{}, a)
		x.Token(t, 1, grid.Options{}, b)
		if unequal(a.State().HFinal, b.State().HFinal) < 0 {
			t.Errorf("%s is not read at the next tick", name)
		}
	}
}

func activations(t *report) {
	x := newWorld(t, "nano", 1, nil, nil)
	s := x.Start()
	var want []float32
	for k := range 37 {
		x.Token(t, k, grid.Options{}, s)
		want = append(want, float32(meanAbs(s.State().Hidden[2*x.C.D:3*x.C.D])))
		got := s.Channels.Recent(nil, 2)
		last := want[max(0, len(want)-16):]
		if len(got) != len(last) || furthestOf(got, last) > 1e-6 {
			t.Fatalf("after %d firings: %v, want %v", len(want), got, last)
		}
		if at := (len(want) - 1) % 16; s.Channels.History[2*16+at] != s.Channels.Activation[2] {
			t.Fatalf("firing %d is not at place %d", len(want), at)
		}
	}
}

func contributions(t *report) {
	x := newWorld(t, "micro", 1, func(c *config.Config) { c.N, c.Numerics, c.Refractory, c.ActiveCap = 12, "fp16", false, 1 }, nil)
	s := x.Start()
	d := x.C.D
	var all []float32
	var frames [][]float32
	for k := range 40 {
		t.Must(s.Inject(0, x.Code(k)))
		t.Must(x.G.Tick([]*grid.Session{s}, grid.Options{}))
		all = append(all, s.Channels.Contribution[5*32+k%32])
		f := s.State().Frames[5*8*d : 6*8*d]
		frames = append([][]float32{slices.Clone(f[:d])}, frames...)
		for i := range min(8, len(frames)) {
			if unequal(f[i*d:(i+1)*d], frames[i]) >= 0 {
				t.Fatalf("tick %d: frame %d is not the one of %d ticks ago", k, i, i)
			}
		}
		for i, v := range f {
			if tensor.F16ToF32(tensor.F32ToF16(v)) != v {
				t.Fatalf("frame value %d is %v, no half", i, v)
			}
		}
		if got, last := s.Channels.Contributions(nil, 5), all[max(0, len(all)-32):]; unequal(got, last) >= 0 || len(got) != len(last) {
			t.Fatalf("after %d firings: %v, want %v", len(all), got, last)
		}
	}
	if slices.Max(all) == slices.Min(all) {
		t.Errorf("all contributions are %v", all[0])
	}
}

func deterministic(t *report) {
	var want *grid.Session
	for _, threads := range []int{1, 8, 3} {
		x := newWorld(t, "micro", threads, func(c *config.Config) { crowded(c); c.N = 24 }, nil)
		for _, others := range []int{0, 3} {
			s := x.G.Session(1)
			all := []*grid.Session{s}
			for i := range others {
				all = slices.Insert(all, 0, x.G.Session(uint64(20+i)))
			}
			for k := range 20 / x.C.K {
				x.Token(t, k, grid.Options{Temperature: 1}, all...)
			}
			if want == nil {
				want = s
			} else if d := doDifference(want, s); d != "" {
				t.Errorf("%d threads, %d other sessions: %s differs", threads, others, d)
			}
		}
		x.Close()
	}
	t.Figure("20 ticks, 1, 8 and 3 threads, alone and with three others")
}

func discarded(t *report) {
	x := newWorld(t, "micro", 1, crowded, nil)
	for n := range x.C.N {
		x.G.Baseline().State.PTrace[n] = float32(n) / 10
	}
	persistent := slices.Clone(x.G.Baseline().State.PTrace)
	s := x.Start()
	call := func(from int) *neuron.State[float32] {
		s.Reset()
		if i := unequal(s.State().Trace, persistent); i >= 0 {
			t.Errorf("the trace of neuron %d begins at %v, want %v", i, s.State().Trace[i], persistent[i])
		}
		for k := range 6 {
			x.Token(t, from+k, grid.Options{}, s)
		}
		return s.State()
	}
	a, b, again := call(0), call(100), call(0)
	if unequal(a.HFinal, b.HFinal) < 0 {
		t.Errorf("another context has the same result")
	}
	if i := unequal(a.HFinal, again.HFinal); i >= 0 {
		t.Errorf("h_final[%d] is %v the first time and %v the second", i, a.HFinal[i], again.HFinal[i])
	}
	if unequal(a.PTrace, persistent) >= 0 || unequal(x.G.Baseline().State.PTrace, persistent) >= 0 {
		t.Errorf("a call changed the persistent trace")
	}
}

// fields compares with values computed here from the states before and after
// three ticks.
func fields(t *report) {
	x := newWorld(t, "nano", 1, func(c *config.Config) { c.DRCMax = 16 }, nil)
	c, d := &x.C, x.C.D
	community := []uint32{0, 0, 1, 1, 1, 2, 2, 0}
	for n, id := range community {
		x.G.Baseline().Channels.GraphPos[2*n], x.G.Baseline().Channels.GraphPos[2*n+1] = id, uint32(n)
	}
	s := x.Start()
	neighbour, contribution := make([]float64, c.N*d), make([][]float64, c.N)
	abg := x.W.Of("port.planner.abg")
	alpha, beta, gamma := neuron.Shares(5, float64(abg[0]), float64(abg[1]))
	for k := range 3 {
		before := s.State()
		x.Token(t, k, grid.Options{Quiet: true}, s)
		after := s.State()
		var traces float64
		for _, v := range before.Trace {
			traces += float64(v) / float64(c.N)
		}
		for n := range c.N {
			row := func(v []float32) []float32 { return v[n*d : (n+1)*d] }
			if sources := x.Graph.Incoming(n); k > 0 {
				for j := range d {
					var mean float64
					for _, e := range sources {
						mean += float64(before.HFinal[int(x.Graph.Src[e])*d+j]) / float64(len(sources))
					}
					neighbour[n*d+j] = .9*neighbour[n*d+j] + .1*mean
				}
			}
			top := 0.0
			for j, u := range row(after.UDim) {
				top = max(top, (float64(u)-.9*float64(row(before.UDim)[j]))/.1)
			}
			hat := 1.0
			if traces > 0 {
				hat = float64(before.Trace[n]) / traces
			}
			act := meanAbs(row(after.Hidden))
			contribution[n] = append(contribution[n], act*(alpha*float64(d)*top+beta*hat+gamma))
			var logit float64
			for j, v := range row(after.Hidden) {
				logit += float64(v) * float64(x.W.Rows("n.w_conf", n)[j])
				want := .9*float64(row(before.Momentum)[j]) + .1*(float64(v)-float64(row(before.Hidden)[j]))
				if math.Abs(want-float64(row(after.Momentum)[j])) > 1e-5 {
					t.Fatalf("tick %d: momentum[%d][%d] is %v, want %v", k, n, j, row(after.Momentum)[j], want)
				}
			}
			want := 1 / (1 + math.Exp(-logit/float64(x.W.Of("s5.calibration")[n])))
			if math.Abs(want-float64(after.Conf[n])) > 1e-5 {
				t.Errorf("tick %d: confidence of %d is %v, want %v of its calibration", k, n, after.Conf[n], want)
			}
			drc := iterate(x, n, row(after.Frames), before.Conf[n], 16)
			if e := furthestOf(drc, s.Channels.DRC[n*d:(n+1)*d]); e > 1e-4*max(1, meanAbs(drc)) {
				t.Errorf("tick %d: drc_accumulator of %d is off by %v", k, n, e)
			}
		}
	}
	for n := range c.N {
		for j := range d {
			if e := math.Abs(neighbour[n*d+j] - float64(s.Channels.Neighbour[n*d+j])); e > 1e-5 {
				t.Fatalf("neighbour_summary[%d][%d] is off by %v", n, j, e)
			}
		}
		for i, v := range s.Channels.Contributions(nil, n) {
			if math.Abs(float64(v)-contribution[n][i]) > 1e-3*contribution[n][i] {
				t.Errorf("contribution_history[%d][%d] is %v, want %v", n, i, v, contribution[n][i])
			}
		}
		if s.Channels.GraphPos[2*n] != community[n] || s.Channels.GraphPos[2*n+1] != uint32(n) {
			t.Errorf("graph_position of %d is not the baseline's", n)
		}
	}
	utility, evict := s.State().Utility, make([]float32, c.N)
	grid.Eviction(evict, utility)
	low, high := slices.Min(utility), slices.Max(utility)
	for n, u := range utility {
		if want := 1 - (u-low)/(high-low); math.Abs(float64(want-evict[n])) > 1e-6 {
			t.Errorf("eviction_priority of %d is %v, want %v", n, evict[n], want)
		}
	}
	for e := range x.Graph.Edges() {
		if !s.Channels.Active(e, s.Ticks()) || s.Channels.Active(e, s.Ticks()+16) {
			t.Errorf("edge %d, heard at tick %d: active now %v, in 16 ticks %v", e, s.Channels.Heard[e], s.Channels.Active(e, s.Ticks()), s.Channels.Active(e, s.Ticks()+16))
		}
	}
	t.Figure("8 fields, 8 neurons, 3 ticks")
}

// iterate is stream D by its definition: what n(conf) iterations change of h.
func iterate(x *world, n int, h []float32, conf float32, most int) []float32 {
	d := x.C.D
	pred, corr := x.W.Rows("n.drc.pred", n), x.W.Rows("n.drc.corr", n)
	v, last := make([]float64, d), make([]float64, d)
	for i, y := range h {
		v[i] = float64(y)
	}
	for range min(neuron.Iterations(conf), most) {
		copy(last, v)
		rest := make([]float64, d)
		for i := range rest {
			rest[i] = float64(h[i])
			for j, p := range pred[i*d : (i+1)*d] {
				rest[i] -= float64(p) * last[j]
			}
		}
		var dot, a, b float64
		for i := range v {
			for j, q := range corr[i*d : (i+1)*d] {
				v[i] += float64(q) * rest[j]
			}
			dot, a, b = dot+v[i]*last[i], a+v[i]*v[i], b+last[i]*last[i]
		}
		if dot/max(math.Sqrt(a*b), 1e-12) > .999 {
			break
		}
	}
	out := make([]float32, d)
	for i := range out {
		out[i] = float32(v[i] - float64(h[i]))
	}
	return out
}

func origin(t *report) {
	x := newWorld(t, "nano", 1, nil, nil)
	for i := range x.W.Specs { // neurons that differ in their edges alone
		if sp := &x.W.Specs[i]; len(sp.Dims) > 0 && sp.Dims[0] == x.C.N && (sp.Name[0] == 'n' || sp.Name[0] == 's' || sp.Name[0] == 'b') && sp.Name[1] != 'r' {
			v := x.W.At(i)
			for n := 1; n < x.C.N; n++ {
				copy(v[n*len(v)/x.C.N:], v[:len(v)/x.C.N])
			}
		}
	}
	x.G.Bind()
	s := x.Start()
	for k := range 3 {
		x.Token(t, k, grid.Options{}, s)
	}
	h, d := s.State().HFinal, x.C.D
	if furthestOf(h[:d], h[d:2*d]) == 0 {
		t.Errorf("neurons 0 and 1 have other edges and the same output")
	}
	// A state that is put back goes on with the same bits.
	kept := s.State()
	r := x.Start()
	for k := range 3 {
		x.Token(t, k, grid.Options{}, r)
	}
	for k := 3; k < 5; k++ {
		x.Token(t, k, grid.Options{}, r) // elsewhere
	}
	r.SetState(kept)
	x.Token(t, 3, grid.Options{Quiet: true}, s)
	x.Token(t, 3, grid.Options{Quiet: true}, r)
	if i := unequal(s.State().HFinal, r.State().HFinal); i >= 0 {
		t.Errorf("a state that is put back goes on with another h_final[%d]", i)
	}
	// What a neuron hears is h_final of its sources, wherever they are.
	for _, source := range []int{0, 3, 7} {
		a, b := x.Start(), x.Start()
		x.Token(t, 0, grid.Options{Quiet: true}, a)
		x.Token(t, 0, grid.Options{Quiet: true}, b)
		st := b.State()
		for i := range d {
			st.HFinal[source*d+i] += 1
		}
		b.SetState(st)
		x.Token(t, 1, grid.Options{Quiet: true}, a)
		x.Token(t, 1, grid.Options{Quiet: true}, b)
		lo, hi := x.Graph.Outgoing(source)
		for n := range x.C.N {
			hears := slices.Contains(x.Graph.Dst[lo:hi], int32(n))
			if moved := furthestOf(a.State().Hidden[n*d:][:d], b.State().Hidden[n*d:][:d]) > 0; moved != hears {
				t.Errorf("h_final of %d changes neuron %d: %v, an edge: %v", source, n, moved, hears)
			}
		}
	}
}

func rests(t *report) {
	x := newWorld(t, "micro", 1, func(c *config.Config) { sparse(c); c.K = 1 }, nil)
	s := x.Start()
	seen := tap(t, s)
	d, kept, rested, consumed := x.C.D, 0, 0, 0
	for k := range 30 {
		before, mail := s.State(), make([]int, x.C.N)
		firings, channels := slices.Clone(s.Channels.Firings), s.Channels.Clone()
		t.Must(s.Inject(0, x.Code(k)))
		for n := range mail {
			mail[n] = len(s.Mail(n))
		}
		seen()
		t.Must(x.G.Tick([]*grid.Session{s}, grid.Options{}))
		after := s.State()
		senders := map[uint32]bool{}
		for _, m := range seen() {
			senders[uint32(m.wire[2])|uint32(m.wire[3])<<8] = true
		}
		p, q := before.Fields(), after.Fields()
		for n := range x.C.N {
			fired := s.Channels.Firings[n] > firings[n]
			if fired {
				consumed += mail[n]
				for _, m := range s.Mail(n) { // only what was sent at this tick
					if int(m.Sender) < x.C.N && !senders[m.Sender] {
						t.Errorf("tick %d: neuron %d fired and kept mail of %d", k, n, m.Sender)
					}
				}
				if !senders[uint32(n)] && len(x.Graph.Incoming(n)) > 0 {
					t.Errorf("tick %d: neuron %d fired and sent nothing", k, n)
				}
				continue
			}
			if before.Refractory[n] == 0 {
				continue
			}
			rested++
			if senders[uint32(n)] {
				t.Errorf("tick %d: neuron %d rests and sends", k, n)
			}
			if after.Refractory[n] != before.Refractory[n]-1 || after.Sent[n] {
				t.Errorf("tick %d: neuron %d rests: counter %d after %d", k, n, after.Refractory[n], before.Refractory[n])
			}
			for i := range p {
				w := p[i].Width
				if unequal(p[i].Values[n*w:(n+1)*w], q[i].Values[n*w:(n+1)*w]) >= 0 {
					t.Errorf("tick %d: neuron %d rests and %s changes", k, n, p[i].Name)
				}
			}
			for i, v := range beside(s.Channels) {
				if w := len(v) / x.C.N; w*x.C.N == len(v) && i != loads && unequal(v[n*w:(n+1)*w], beside(channels)[i][n*w:(n+1)*w]) >= 0 {
					t.Errorf("tick %d: neuron %d rests and channel %d changes", k, n, i)
				}
			}
			if len(s.Mail(n)) < mail[n] {
				t.Errorf("tick %d: neuron %d rests and loses %d of %d messages", k, n, mail[n]-len(s.Mail(n)), mail[n])
			}
			kept += mail[n]
		}
	}
	if rested == 0 || kept == 0 || consumed == 0 || d == 0 {
		t.Errorf("%d rests, %d messages kept, %d read", rested, kept, consumed)
	}
	t.Figure("%d rests, %d messages read", rested, consumed)
}
