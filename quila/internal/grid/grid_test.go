package grid_test

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"

	"atenia/grad"
	"atenia/internal/golden/await"
	"atenia/quila/config"
	"atenia/quila/internal/grid"
	"atenia/quila/internal/neuron"
	"atenia/quila/internal/weights"
)

// network makes a grid of a profile with changes, with weights in which no term
// is trivial.
func network(t testing.TB, profile string, threads int, change func(c *config.Config)) *grid.Grid {
	t.Helper()
	g, _ := weighted(t, profile, threads, change)
	return g
}

// weighted is network, with the weights.
func weighted(t testing.TB, profile string, threads int, change func(c *config.Config)) (*grid.Grid, *weights.Set[float32]) {
	t.Helper()
	c, err := config.Profile(profile)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(&c)
	}
	graph := weights.Initial(&c)
	w := weights.Init(&c, graph.Edges(), 1)
	noise := make([]float64, 64)
	for i := range w.Specs {
		if !w.Specs[i].Trained {
			continue
		}
		v := w.At(i)
		weights.Stream{Seed: 9, Neuron: uint32(i)}.Normal(noise)
		for k := range v {
			v[k] += float32(.05 * noise[k%len(noise)])
		}
	}
	team := grad.NewThreads(threads)
	t.Cleanup(team.Close)
	g, err := grid.New(&c, graph, w, team)
	if err != nil {
		t.Fatal(err)
	}
	return g, w
}

// code is an embedding on the sphere of the codebook's radius.
func code(c *config.Config, seed uint64, token int) []float32 {
	x, out := make([]float64, c.DE), make([]float32, c.DE)
	weights.Stream{Seed: seed, Tick: uint64(token), Site: weights.InitSite}.Normal(x)
	for i, v := range x {
		out[i] = float32(v)
	}
	return out
}

// stream runs tokens of K ticks in sessions that step together.
func stream(t testing.TB, g *grid.Grid, sessions []*grid.Session, from, tokens int, o grid.Options) {
	t.Helper()
	c := g.Config()
	for k := from; k < from+tokens; k++ {
		for _, s := range sessions {
			if err := s.Inject(0, code(c, s.Seed(), k)); err != nil {
				t.Fatal(err)
			}
		}
		for range c.K {
			if err := g.Tick(sessions, o); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// same reports the first channel in which two sessions differ.
func same(a, b *grid.Session) error {
	x, y := a.State().Fields(), b.State().Fields()
	for i := range x {
		for k, v := range x[i].Values {
			if math.Float32bits(v) != math.Float32bits(y[i].Values[k]) {
				return fmt.Errorf("%s[%d] is %v and %v", x[i].Name, k, v, y[i].Values[k])
			}
		}
	}
	if !slices.Equal(a.State().Refractory, b.State().Refractory) {
		return fmt.Errorf("refractory counters %v and %v", a.State().Refractory, b.State().Refractory)
	}
	for _, p := range [][2][]float32{{a.Channels.Neighbour, b.Channels.Neighbour}, {a.Channels.Load, b.Channels.Load}, {a.Channels.DRC, b.Channels.DRC},
		{a.Channels.Contribution, b.Channels.Contribution}, {a.Channels.Uncertainty, b.Channels.Uncertainty}} {
		if !slices.Equal(p[0], p[1]) {
			return errors.New("the channels beside differ")
		}
	}
	return nil
}

func busy(c *config.Config) {
	c.FP8, c.Stagger, c.PartialSend, c.Uncertainty, c.PartialSendThreshold = true, true, true, true, .09
	c.Modalities = 1
}

// TestComposed: composite maps and messages in float32 agree, also where only
// some neurons hear the boundary.
func TestComposed(t *testing.T) {
	for _, deaf := range []int{0, 5} {
		a := network(t, "nano", 1, nil)
		b := network(t, "nano", 1, func(c *config.Config) { c.ActiveCap = .999 }) // all fire, by messages
		for n := range deaf {
			a.Baseline().Channels.Attention[n], b.Baseline().Channels.Attention[n] = grid.Analysis, grid.Analysis
		}
		s, r := a.Session(3), b.Session(3)
		stream(t, a, []*grid.Session{s}, 0, 6, grid.Options{Quiet: true})
		stream(t, b, []*grid.Session{r}, 0, 6, grid.Options{Quiet: true})
		x, y := s.State().HFinal, r.State().HFinal
		var largest, worst float64
		for i := range x {
			largest, worst = max(largest, math.Abs(float64(x[i]))), max(worst, math.Abs(float64(x[i]-y[i])))
		}
		t.Logf("largest %.3g, difference %.2g", largest, worst)
		if largest < .1 || worst > 5e-5*largest {
			t.Errorf("%d deaf neurons: h_final differs by %.3g of %.3g", deaf, worst, largest)
		}
		for i, v := range s.Channels.Neighbour {
			if math.Abs(float64(v-r.Channels.Neighbour[i])) > 1e-5 {
				t.Fatalf("neighbour_summary[%d] is %v and %v", i, v, r.Channels.Neighbour[i])
			}
		}
		if !slices.Equal(s.Channels.Firings, r.Channels.Firings) || (s.Channels.Firings[0] < 6) != (deaf > 0) {
			t.Errorf("%d deaf neurons: firings %v and %v", deaf, s.Channels.Firings, r.Channels.Firings)
		}
	}
}

// TestStepOne: what a neuron makes of its mail is W_in of the convolved mean, by
// the definition in float64, with one matrix for both and with two.
func TestStepOne(t *testing.T) {
	for _, n := range []int{16, 300} {
		g, w := weighted(t, "micro", 1, func(c *config.Config) {
			c.FP8, c.N, c.NormIn, c.RhoOn, c.Modalities = true, n, false, false, 1
		})
		c := g.Config()
		s := g.Session(1)
		if err := s.Materialise(nil); err != nil {
			t.Fatal(err)
		}
		stream(t, g, []*grid.Session{s}, 0, 1, grid.Options{})
		if err := s.Inject(0, code(c, 1, 1)); err != nil {
			t.Fatal(err)
		}
		wide := weights.To[float64](w)
		board, h2 := neuron.NewBoard[float64](c), c.H*c.H
		mean, conv, want, work := make([]float64, h2), make([]float64, h2), make([]float64, c.D), make([]float64, c.D1*c.H)
		boards := make([][]float64, c.N)
		for n := range boards {
			mail := s.Mail(n)
			board.Reset()
			for i := range mail {
				board.Receive(&mail[i])
			}
			board.Mean(mean)
			neuron.Convolve(conv, mean, wide.Rows("n.k_in", n), c.H)
			neuron.Kronecker(want, conv, wide.Rows("n.w_in.l", n), wide.Rows("n.w_in.r", n), work, c.H, c.D1, c.D2)
			for i, x := range wide.Rows("n.b_in", n) {
				want[i] += x
			}
			boards[n] = slices.Clone(want)
		}
		before := slices.Clone(s.Channels.Firings)
		if err := g.Tick([]*grid.Session{s}, grid.Options{}); err != nil {
			t.Fatal(err)
		}
		st, fired := s.State(), 0
		for n, want := range boards {
			if s.Channels.Firings[n] == before[n] {
				continue
			}
			fired++
			got := st.Frames[n*st.Depth*c.D:][:c.D] // without a norm, step 3 is step 1
			for i, x := range want {
				if math.Abs(x-float64(got[i])) > 5e-5 {
					t.Fatalf("%d neurons: h[%d][%d] is %v, want %v", c.N, n, i, got[i], x)
				}
			}
		}
		if fired == 0 {
			t.Error("no neuron fired")
		}
	}
}

// TestOptions: what rests may send again, and means may be taken in pairs; both
// ways of sending agree.
func TestOptions(t *testing.T) {
	plain := func(c *config.Config) { c.FP8, c.N, c.Modalities = true, 16, 1 }
	count := func(change func(c *config.Config)) (int, *grid.Session) {
		g := network(t, "micro", 1, func(c *config.Config) { plain(c); change(c) })
		a, b := g.Session(5), g.Session(5)
		n := 0
		if err := b.Materialise(func(int, []byte) { n++ }); err != nil {
			t.Fatal(err)
		}
		stream(t, g, []*grid.Session{a}, 0, 8, grid.Options{})
		stream(t, g, []*grid.Session{b}, 0, 8, grid.Options{})
		if err := same(a, b); err != nil {
			t.Error(err)
		}
		return n, a
	}
	n, base := count(func(*config.Config) {})
	if again, _ := count(func(c *config.Config) { c.RefractoryResend = true }); again <= n {
		t.Errorf("%d messages with refractory_resend, %d without", again, n)
	}
	if _, pairs := count(func(c *config.Config) { c.PairwiseMean = true }); same(pairs, base) == nil {
		t.Error("pairwise_mean changes nothing")
	}
}

// TestFused: messages that are made by their receiver and messages that travel
// as bytes give the same bits.
func TestFused(t *testing.T) {
	g := network(t, "micro", 1, busy)
	a, b := g.Session(5), g.Session(5)
	partial, sent := 0, 0
	if err := b.Materialise(func(_ int, wire []byte) {
		sent++
		if wire[6]&1 != 0 {
			partial++
		}
	}); err != nil {
		t.Fatal(err)
	}
	for k := range 20 {
		stream(t, g, []*grid.Session{a}, k, 1, grid.Options{Temperature: 1})
		stream(t, g, []*grid.Session{b}, k, 1, grid.Options{Temperature: 1})
		if err := same(a, b); err != nil {
			t.Fatalf("token %d: %v", k, err)
		}
	}
	if a.Overrun != 0 || a.Dropped != 0 || partial == 0 || partial == sent {
		t.Errorf("%d overrun, %d dropped, %d of %d partial", a.Overrun, a.Dropped, partial, sent)
	}
}

// TestBroken: a message with a NaN is dropped and counted by both ways of
// sending, and its neighbours are not.
func TestBroken(t *testing.T) {
	g, w := weighted(t, "micro", 1, func(c *config.Config) { c.FP8, c.N = true, 16 })
	w.Rows("edge.kernel", 5)[3] = float32(math.NaN())
	g.Bind()
	a, b := g.Session(5), g.Session(5)
	if err := b.Materialise(nil); err != nil {
		t.Fatal(err)
	}
	stream(t, g, []*grid.Session{a}, 0, 12, grid.Options{})
	stream(t, g, []*grid.Session{b}, 0, 12, grid.Options{})
	if err := same(a, b); err != nil {
		t.Fatal(err)
	}
	if sends := int(a.Channels.Firings[g.Graph().Src[5]]); a.Dropped != sends || b.Dropped != sends || sends == 0 {
		t.Errorf("%d and %d messages dropped, %d sent", a.Dropped, b.Dropped, sends)
	}
	for i, v := range a.State().HFinal {
		if v != v {
			t.Fatalf("h_final[%d] is NaN", i)
		}
	}
}

// TestDeterminism: threads, and which sessions step together, change no bit.
func TestDeterminism(t *testing.T) {
	for _, profile := range []string{"nano", "micro"} {
		var want *grid.Session
		for _, threads := range []int{1, 3} {
			change := busy
			if profile == "nano" {
				change = nil
			}
			g := network(t, profile, threads, change)
			for _, others := range []int{0, 2} {
				s := g.Session(7)
				all := []*grid.Session{s}
				for i := range others {
					all = append([]*grid.Session{g.Session(uint64(50 + i))}, all...)
				}
				stream(t, g, all, 0, 3, grid.Options{Temperature: 1})
				stream(t, g, all[len(all)-1:], 3, 2, grid.Options{Temperature: 1})
				if want == nil {
					want = s
				} else if err := same(want, s); err != nil {
					t.Errorf("%s, %d threads, %d others: %v", profile, threads, others, err)
				}
			}
		}
	}
}

// TestReset: a call begins like the first one.
func TestReset(t *testing.T) {
	g := network(t, "micro", 1, busy)
	g.Baseline().State.PTrace[3] = 2
	a, b := g.Session(1), g.Session(1)
	stream(t, g, []*grid.Session{a}, 20, 5, grid.Options{})
	a.Reset()
	if err := same(a, b); err != nil {
		t.Fatal(err)
	}
	if got := a.State().Trace[3]; got != 2 {
		t.Errorf("the session's trace begins at %v, want the persistent 2", got)
	}
	stream(t, g, []*grid.Session{a}, 0, 5, grid.Options{})
	stream(t, g, []*grid.Session{b}, 0, 5, grid.Options{})
	if err := same(a, b); err != nil {
		t.Fatal(err)
	}
}

// TestRefused: calls that do not fit are errors.
func TestRefused(t *testing.T) {
	g, other := network(t, "nano", 1, nil), network(t, "nano", 1, nil)
	s := g.Session(1)
	e := code(g.Config(), 1, 1)
	if err := s.Inject(0, e); err != nil {
		t.Fatal(err)
	}
	bad := slices.Clone(e)
	bad[3] = float32(math.NaN())
	for name, err := range map[string]error{
		"a second embedding":       s.Inject(0, e),
		"a modality beyond":        s.Inject(1, e),
		"an embedding too short":   s.Inject(0, e[:5]),
		"a NaN":                    g.Session(2).Inject(0, bad),
		"a session twice":          g.Tick([]*grid.Session{s, s}, grid.Options{}),
		"a session of another":     g.Tick([]*grid.Session{other.Session(1)}, grid.Options{}),
		"phase 7":                  g.Tick([]*grid.Session{s}, grid.Options{Phase: 7}),
		"messages without options": s.Materialise(nil),
	} {
		if typed := (*grid.Error)(nil); !errors.Is(err, grid.ErrGrid) || !errors.As(err, &typed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := g.Tick(nil, grid.Options{}); err != nil {
		t.Error(err)
	}
}

// TestAllocs: ticks of sessions that step together allocate nothing.
func TestAllocs(t *testing.T) {
	if testing.Short() || await.Race {
		t.Skip("counts allocations")
	}
	for _, profile := range []string{"nano", "micro"} {
		change := busy
		if profile == "nano" {
			change = nil
		}
		g := network(t, profile, 2, change)
		sessions := []*grid.Session{g.Session(1), g.Session(2), g.Session(3)}
		e := code(g.Config(), 1, 1)
		token := func() {
			for _, s := range sessions {
				_ = s.Inject(0, e)
			}
			_ = g.Tick(sessions, grid.Options{Temperature: 1})
		}
		for range 60 {
			token()
		}
		if n := await.Allocs(30, token); n > 0 {
			t.Errorf("%s: a tick allocates %v times", profile, n)
		}
	}
}

// BenchmarkStream is tokens of 32 sessions that stream together, the grid alone.
func BenchmarkStream(b *testing.B) {
	for _, v := range []struct {
		name, profile string
		change        func(c *config.Config)
	}{
		{"nano", "nano", nil},
		{"nano/fp8", "nano", func(c *config.Config) { c.FP8 = true }},
		{"micro", "micro", nil},
		{"micro/fp8", "micro", func(c *config.Config) { c.FP8 = true }},
	} {
		for _, n := range []int{1, 32} {
			b.Run(fmt.Sprintf("%s/%d", v.name, n), func(b *testing.B) {
				g := network(b, v.profile, runtime.NumCPU(), v.change)
				var sessions []*grid.Session
				for i := range n {
					sessions = append(sessions, g.Session(uint64(i)))
				}
				e := code(g.Config(), 1, 1)
				tokens := 0
				for b.Loop() {
					for _, s := range sessions {
						_ = s.Inject(0, e)
					}
					for range g.Config().K {
						if err := g.Tick(sessions, grid.Options{}); err != nil {
							b.Fatal(err)
						}
					}
					tokens += n
				}
				b.ReportMetric(float64(tokens)/b.Elapsed().Seconds(), "tokens/s")
			})
		}
	}
}
