package neuron_test

import (
	"math"
	"slices"
	"testing"

	"atenia/grad"
	"atenia/internal/golden/await"
	"atenia/quila/internal/neuron"
	"atenia/quila/internal/weights"
)

// TestMessagesExact: where E4M3 has all payloads exactly, rounded messages give
// the gradients of the composite maps.
func TestMessagesExact(t *testing.T) {
	c := small(t)
	tr := newTrial(&c, 1, 2)
	coarse := func(v []float64) {
		for i, x := range v {
			v[i] = math.Copysign(math.Ldexp(1, int(math.Abs(3*x))%3), x)
		}
	}
	for _, name := range []string{"edge.w_out", "boundary.text.w_out"} {
		coarse(tr.w.Of(name))
	}
	for _, name := range []string{"edge.kernel", "boundary.text.kernel"} { // one element each: no sums of two
		v := tr.w.Of(name)
		for i := range v {
			v[i] = 0
			if i%16 == 5 {
				v[i] = -.5
			}
		}
	}
	coarse(tr.start.HFinal)
	coarse(tr.emb)
	g := neuron.New[float64](&c, tr.graph, nil)
	want, got := map[string][]float64{}, map[string][]float64{}
	a, err := tr.loss(g, want)
	if err != nil {
		t.Fatal(err)
	}
	tr.o.FP8 = true
	b, err := tr.loss(g, got)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(a-b) > 1e-12*math.Abs(a) {
		t.Errorf("the loss is %v with messages, %v without", b, a)
	}
	for name, v := range want {
		if e, top := distance(got[name], v); e > 1e-11*top {
			t.Errorf("%s is off by %g of %g", name, e, top)
		}
	}
}

// distance is the largest difference, and the largest entry of want.
func distance(got, want []float64) (worst, largest float64) {
	for i, w := range want {
		worst, largest = math.Max(worst, math.Abs(got[i]-w)), math.Max(largest, math.Abs(w))
	}
	return worst, largest
}

// TestMessagesBeyond: a payload beyond ±448 has no gradient.
func TestMessagesBeyond(t *testing.T) {
	c := small(t)
	tr := newTrial(&c, 1, 1)
	tr.o.FP8 = true
	for i := range tr.w.Of("edge.w_out") {
		tr.w.Of("edge.w_out")[i] = 1e6
	}
	for i := range tr.start.Sent {
		tr.start.Sent[i] = true
	}
	got := map[string][]float64{}
	if _, err := tr.loss(neuron.New[float64](&c, tr.graph, nil), got); err != nil {
		t.Fatal(err)
	}
	for i, x := range got["edge.w_out"] {
		if x != 0 {
			t.Fatalf("edge.w_out[%d] has the gradient %v", i, x)
		}
	}
	if _, top := distance(got["boundary.text.w_out"], got["boundary.text.w_out"]); top == 0 {
		t.Error("the boundary has no gradient")
	}
}

// TestMessagesNear: rounding moves gradients by its own size over several ticks.
func TestMessagesNear(t *testing.T) {
	c := small(t)
	c.K = 2
	tr := newTrial(&c, 3, 2)
	g := neuron.New[float64](&c, tr.graph, nil)
	want, got := map[string][]float64{}, map[string][]float64{}
	if _, err := tr.loss(g, want); err != nil {
		t.Fatal(err)
	}
	tr.o.FP8 = true
	if _, err := tr.loss(g, got); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"edge.w_out", "edge.kernel", "boundary.text.w_out", "n.k_in", "n.w_in.l", "n.rwkv", "cm.f.2.w"} {
		var dot, a, b float64
		for i, x := range want[name] {
			y := got[name][i]
			dot, a, b = dot+x*y, a+x*x, b+y*y
		}
		if cos := dot / math.Sqrt(a*b); !(cos > .98) {
			t.Errorf("%s: gradients have the cosine %v", name, cos)
		}
	}
}

// TestThreads: results and gradients are the same bits for any number of threads.
func TestThreads(t *testing.T) {
	var want [][]float32
	for _, threads := range []int{1, 2, 3, 8} {
		tr := newTrainer(t, threads, 5, 6)
		var got [][]float32
		for _, fp8 := range []bool{false, true} {
			for range 2 {
				if err := tr.step(neuron.Options[float32]{FP8: fp8}); err != nil {
					t.Fatal(err)
				}
			}
			for _, s := range tr.w.Specs {
				if g, ok := tr.tape.Grad(tr.refs[s.Name]); s.Trained && ok {
					got = append(got, slices.Clone(g))
				}
			}
			for _, f := range tr.s.Fields() {
				got = append(got, slices.Clone(f.Values))
			}
		}
		if want == nil {
			want = got
			continue
		}
		for i := range want {
			if !slices.Equal(want[i], got[i]) {
				t.Fatalf("tensor %d differs with %d threads", i, threads)
			}
		}
	}
}

// TestSingle: gradients in float32 are those in float64 to 2e-4 of the largest.
func TestSingle(t *testing.T) {
	tr := newTrainer(t, 2, 3, 8)
	single := tr.s.Clone()
	if err := tr.step(neuron.Options[float32]{}); err != nil {
		t.Fatal(err)
	}
	c, _, _ := nano(t, 1)
	w := weights.To[float64](tr.w)
	g := neuron.New[float64](c, weights.Initial(c), nil)
	g.Bind(w)
	var reg grad.Registry[float64]
	neuron.Register(&reg)
	tape := grad.New(&reg)
	refs := map[string]grad.Ref{}
	for i, s := range w.Specs {
		if s.Trained {
			refs[s.Name] = tape.Borrow(w.At(i), s.Size())
		}
	}
	s := neuron.NewState[float64](c, single.B)
	out, err := g.Window(tape, refs, s, double(tr.emb), tr.T, neuron.Options[float64]{})
	if err != nil {
		t.Fatal(err)
	}
	if err := tape.BackwardFrom(out.X, double(tr.d)); err != nil {
		t.Fatal(err)
	}
	for _, sp := range w.Specs {
		want, ok := tape.Grad(refs[sp.Name])
		got, ok32 := tr.tape.Grad(tr.refs[sp.Name])
		if ok != ok32 {
			t.Fatalf("%s: a gradient in one type only", sp.Name)
		}
		if !ok {
			continue
		}
		if e, top := distance(double(got), want); e > 2e-4*top+1e-7 {
			t.Errorf("%s is off by %g of %g", sp.Name, e, top)
		}
	}
}

func double(x []float32) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = float64(v)
	}
	return out
}

// TestSteadyWindow: a window of a size that was there before allocates next to
// nothing, and a tick nothing.
func TestSteadyWindow(t *testing.T) {
	if testing.Short() || await.Race {
		t.Skip("allocations are not counted in short runs and under the race detector")
	}
	tr := newTrainer(t, 2, 4, 6)
	run := func() {
		if err := tr.step(neuron.Options[float32]{}); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		run()
	}
	if n := await.Allocs(5, run); n > 0 {
		t.Errorf("a window allocates %v times", n)
	}
	c, _, g := nano(t, 2)
	s, emb := neuron.NewState[float32](c, 4), floats(4*c.DE, 5)
	tick := neuron.Tick[float32]{Alpha: .9}
	if n := await.Allocs(5, func() { g.Run(s, &tick, emb, 0) }); n > 0 {
		t.Errorf("a tick allocates %v times", n)
	}
}
