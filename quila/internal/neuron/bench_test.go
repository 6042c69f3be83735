package neuron_test

import (
	"fmt"
	"testing"

	"atenia/grad"
	"atenia/quila/config"
	"atenia/quila/internal/neuron"
	"atenia/quila/internal/weights"
)

// nano is a network of first values and its grid on so many threads.
func nano(t testing.TB, threads int) (*config.Config, *weights.Set[float32], *neuron.Grid[float32]) {
	t.Helper()
	c, err := config.Profile("nano")
	if err != nil {
		t.Fatal(err)
	}
	graph := weights.Initial(&c)
	w := weights.Init(&c, graph.Edges(), 1)
	team := grad.NewThreads(threads)
	t.Cleanup(team.Close)
	g := neuron.New[float32](&c, graph, team)
	g.Bind(w)
	return &c, w, g
}

func floats(n int, seed uint64) []float32 {
	v := make([]float64, n)
	weights.Stream{Seed: seed, Site: weights.InitSite}.Normal(v)
	out := make([]float32, n)
	for i, x := range v {
		out[i] = float32(x)
	}
	return out
}

// A trainer runs windows of a nano as training does.
type trainer struct {
	g    *neuron.Grid[float32]
	w    *weights.Set[float32]
	tape *grad.Tape[float32]
	refs map[string]grad.Ref
	s    *neuron.State[float32]
	emb  []float32
	d    []float32
	T    int
}

func newTrainer(t testing.TB, threads, sessions, T int) *trainer {
	c, w, g := nano(t, threads)
	var reg grad.Registry[float32]
	neuron.Register(&reg)
	team := grad.NewThreads(threads)
	t.Cleanup(team.Close)
	tr := &trainer{g: g, w: w, tape: grad.New(&reg, grad.WithThreads(team)), refs: map[string]grad.Ref{}, s: neuron.NewState[float32](c, sessions), T: T}
	tr.emb = floats(T*sessions*c.DE, 5)
	tr.d = floats(T*sessions*c.N*c.D, 6)
	return tr
}

func (tr *trainer) step(o neuron.Options[float32]) error {
	tr.g.Bind(tr.w)
	tr.tape.Reset()
	for i, s := range tr.w.Specs {
		if v := tr.w.At(i); s.Trained {
			tr.refs[s.Name] = tr.tape.Borrow(v, len(v))
		}
	}
	out, err := tr.g.Window(tr.tape, tr.refs, tr.s, tr.emb, tr.T, o)
	if err != nil {
		return err
	}
	return tr.tape.BackwardFrom(out.X, tr.d)
}

// BenchmarkTrain is the grid's part of training a nano: windows of 16 sessions and
// 48 tokens, forward and backward.
func BenchmarkTrain(b *testing.B) {
	for _, threads := range []int{1, 2} {
		b.Run(fmt.Sprintf("threads=%d", threads), func(b *testing.B) {
			const sessions, T = 16, 48
			tr := newTrainer(b, threads, sessions, T)
			for b.Loop() {
				if err := tr.step(neuron.Options[float32]{}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N*sessions*T)/b.Elapsed().Seconds(), "tokens/s")
		})
	}
}

// BenchmarkBind is what an optimizer step adds.
func BenchmarkBind(b *testing.B) {
	_, w, g := nano(b, 2)
	for b.Loop() {
		g.Bind(w)
		g.EdgeMap(0)
	}
}

// BenchmarkStream is the grid's part of streaming with a nano, 32 sessions.
func BenchmarkStream(b *testing.B) {
	for _, sessions := range []int{1, 32} {
		b.Run(fmt.Sprintf("sessions=%d", sessions), func(b *testing.B) {
			c, _, g := nano(b, 2)
			s, emb := neuron.NewState[float32](c, sessions), floats(sessions*c.DE, 5)
			tick := neuron.Tick[float32]{Alpha: .9, Beta: .05, Gamma: .05}
			for b.Loop() {
				g.Run(s, &tick, emb, 0)
			}
			b.ReportMetric(float64(b.N*sessions)/b.Elapsed().Seconds(), "tokens/s")
		})
	}
}

// BenchmarkProducts is the products of one neuron's tick at 16 sessions, and those
// of its weights' gradients over a window: small enough for the cache, and too
// short to share among threads.
func BenchmarkProducts(b *testing.B) {
	work := grad.NewWork[float32](nil)
	for _, p := range []struct {
		name    string
		m, k, n int
		turned  bool
	}{
		{"edges/16x192x64", 16, 192, 64, false}, {"rows/16x64x336", 16, 64, 336, false}, {"qkv/16x64x192", 16, 64, 192, false},
		{"back/16x336x64", 16, 336, 64, false}, {"drc/16x64x64", 16, 64, 64, false}, {"weights/336x768x64", 336, 768, 64, true},
	} {
		b.Run(p.name, func(b *testing.B) {
			x, y, dst := floats(p.m*p.k, 1), floats(p.k*p.n, 2), make([]float32, p.m*p.n)
			for b.Loop() {
				if p.turned {
					work.TMul(dst, x, y, p.m, p.k, p.n)
				} else {
					work.Mul(dst, x, y, p.m, p.k, p.n)
				}
			}
			b.ReportMetric(2*float64(p.m*p.k*p.n)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}
