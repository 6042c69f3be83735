package flow_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"atenia/flow"
	"atenia/flow/graph"
	"atenia/flow/node"
)

// A sketch is a short form of a plan: lines "name Type key=value …" are nodes
// that support v2, lines "source -> target key=value …" edges. Unknown keys of a
// node are parameters; values are JSON or words.
func sketch(t testing.TB, text string) []byte {
	t.Helper()
	var nodes, edges []string
	pairs := func(words []string, own ...string) (fields, params []string) {
		for _, w := range words {
			k, v, _ := strings.Cut(w, "=")
			if !json.Valid([]byte(v)) {
				v = fmt.Sprintf("%q", v)
			}
			f := fmt.Sprintf("%q:%s", k, v)
			if slices.Contains(own, k) {
				fields = append(fields, f)
			} else {
				params = append(params, f)
			}
		}
		return fields, params
	}
	for line := range strings.SplitSeq(text, ";") {
		w := strings.Fields(line)
		switch {
		case len(w) == 0:
		case len(w) > 2 && w[1] == "->":
			_, rest := pairs(w[3:])
			edges = append(edges, "{"+strings.Join(append([]string{fmt.Sprintf(`"source":%q,"target":%q`, w[0], w[2])}, rest...), ",")+"}")
		default:
			own, params := pairs(w[2:], "oversample_ratio", "declared_delay", "supports_v2", "pdc")
			if !strings.Contains(line, "supports_v2=") {
				own = append(own, `"supports_v2":true`)
			}
			own = append(own, fmt.Sprintf(`"params":{%s}`, strings.Join(params, ",")))
			nodes = append(nodes, "{"+strings.Join(append([]string{fmt.Sprintf(`"name":%q,"type":%q`, w[0], w[1])}, own...), ",")+"}")
		}
	}
	plan := fmt.Sprintf(`{"graph":{"nodes":[%s],"edges":[%s]}}`, strings.Join(nodes, ","), strings.Join(edges, ","))
	if !json.Valid([]byte(plan)) {
		t.Fatalf("the sketch is no plan: %s", plan)
	}
	return []byte(plan)
}

// row is a stream of one channel.
func row[F node.Float](v ...F) node.Tensor[F] { return node.Tensor[F]{Data: v, B: 1, C: 1, N: len(v)} }

func constant[F node.Float](v F, n int) node.Tensor[F] { return row(slices.Repeat([]F{v}, n)...) }

func impulse[F node.Float](at, n int) node.Tensor[F] {
	x := constant[F](0, n)
	x.Data[at] = 1
	return x
}

func noise[F node.Float](r *rand.Rand, b, c, n int) node.Tensor[F] {
	x := node.Tensor[F]{Data: make([]F, b*c*n), B: b, C: c, N: n}
	for i := range x.Data {
		x.Data[i] = F(r.NormFloat64())
	}
	return x
}

// A trip is a run there and back.
type trip[F node.Float] struct {
	*flow.Session[F]
	rec *flow.Record[F]
	out map[string]node.Tensor[F]
}

// there runs a plan forward with a record.
func there[F node.Float](t testing.TB, plan []byte, o flow.Options, r flow.Recording, inputs map[string]node.Tensor[F], blocks int, cues ...flow.Cue) trip[F] {
	t.Helper()
	o.Training = true
	s := session[F](t, plan, o, nil)
	if err := s.Post(cues...); err != nil {
		t.Fatal(err)
	}
	rec, err := s.Record(r)
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.Run(inputs, blocks)
	if err != nil {
		t.Fatal(err)
	}
	return trip[F]{s, rec, out}
}

// back sweeps backward from gradients of the probes' frames.
func (r trip[F]) back(t testing.TB, out map[string]node.Tensor[F]) *flow.Gradients[F] {
	t.Helper()
	g, err := r.rec.Backward(out, flow.Sweep{})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// ones returns a gradient of one for every frame of every probe.
func (r trip[F]) ones() map[string]node.Tensor[F] {
	out := map[string]node.Tensor[F]{}
	for name, y := range r.out {
		y.Data = slices.Repeat([]F{1}, len(y.Data))
		out[name] = y
	}
	return out
}

func same[F node.Float](t testing.TB, what string, got, want []F) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// TestBackward checks sweeps over graphs whose gradients are computed by hand.
func TestBackward(t *testing.T) {
	t.Parallel()
	four := flow.Options{BlockFrames: 4}
	x := map[string]node.Tensor[float64]{"x": row[float64](1, 2, 3, 4)}
	t.Run("A09", func(t *testing.T) {
		t.Parallel()
		r := there(t, sketch(t, "x Input; g Gain gain=0.5; o Probe; x -> g; g -> o"), four, flow.Recording{}, x, 1)
		g := r.back(t, r.ones())
		same(t, "input", g.Inputs["x"].Data, []float64{.5, .5, .5, .5})
		same(t, "gain", g.Param("g", "gain").Data, []float64{10})
	})
	t.Run("A10", func(t *testing.T) {
		t.Parallel()
		m := `{"shape":[1,2,2],"data":[0.5,0.5,0.5,-0.5]}`
		r := there(t, sketch(t, "x Input channels=2; m Matrix matrix="+m+"; s Split; M Probe; S Probe; x -> m; m -> s; s.out0 -> M; s.out1 -> S"),
			flow.Options{BlockFrames: 2}, flow.Recording{}, map[string]node.Tensor[float64]{"x": {Data: []float64{1, 1, 1, 1}, B: 1, C: 2, N: 2}}, 1)
		g := r.back(t, map[string]node.Tensor[float64]{"M": row[float64](1, 0), "S": row[float64](0, 1)})
		same(t, "left and right", g.Inputs["x"].Data, []float64{.5, .5, .5, -.5})
	})
	t.Run("A11", func(t *testing.T) { t.Parallel(); unsupported(t) })
	t.Run("A37", func(t *testing.T) {
		t.Parallel()
		m := `{"shape":[1,2,3],"data":[1,2,3,4,5,6]}`
		in := node.Tensor[float64]{Data: make([]float64, 30), B: 2, C: 3, N: 5}
		r := there(t, sketch(t, "x Input batches=2 channels=3; m Matrix matrix="+m+"; o Probe; x -> m; m -> o"), flow.Options{BlockFrames: 5}, flow.Recording{},
			map[string]node.Tensor[float64]{"x": in}, 1)
		d := node.Tensor[float64]{Data: make([]float64, 20), B: 2, C: 2, N: 5}
		for i := range d.Data {
			d.Data[i] = float64(i)
		}
		g := r.back(t, map[string]node.Tensor[float64]{"o": d})
		for b := range 2 {
			for c := range 3 {
				for f := range 5 {
					want := float64(1+c)*d.Data[(b*2+0)*5+f] + float64(4+c)*d.Data[(b*2+1)*5+f]
					if got := g.Inputs["x"].Data[(b*3+c)*5+f]; got != want {
						t.Errorf("element (%d, %d, %d): %g, want %g", b, c, f, got, want)
					}
				}
			}
		}
	})
	t.Run("A38", func(t *testing.T) {
		t.Parallel()
		r := there(t, sketch(t, `x Input; y Input; m Matrix matrix={"shape":[1,1,2],"data":[1,0]}; j Merge; o Probe; x -> j.in0; y -> j.in1; j -> m; m -> o`),
			four, flow.Recording{}, map[string]node.Tensor[float64]{"x": x["x"], "y": constant(7.0, 4)}, 1)
		g := r.back(t, r.ones())
		same(t, "the input that is not used", g.Inputs["y"].Data, []float64{0, 0, 0, 0})
	})
	t.Run("A44", func(t *testing.T) {
		t.Parallel()
		for kind, at := range map[string]int{"prefill": 150, "hold": 250} {
			r := there(t, sketch(t, "x Input; o Probe; x -> o delay_frames=100 delay_kind="+kind), flow.Options{BlockFrames: 50}, flow.Recording{},
				map[string]node.Tensor[float64]{"x": constant(1.0, 400)}, 8)
			g := r.back(t, map[string]node.Tensor[float64]{"o": impulse[float64](250, r.out["o"].N)})
			same(t, kind, g.Inputs["x"].Data, impulse[float64](at, 400).Data)
		}
	})
	t.Run("A45", func(t *testing.T) {
		t.Parallel()
		plan := sketch(t, "x Input; m Mix; g Gain gain=0.5; o Probe; x -> m.in0; m -> g; g -> m.in1 delay_frames=3; m -> o")
		r := there(t, plan, flow.Options{BlockFrames: 10}, flow.Recording{}, map[string]node.Tensor[float64]{"x": constant(1.0, 10)}, 1)
		g := r.back(t, r.ones())
		same(t, "input", g.Inputs["x"].Data, []float64{1.875, 1.75, 1.75, 1.75, 1.5, 1.5, 1.5, 1, 1, 1})
	})
	t.Run("A46", func(t *testing.T) {
		t.Parallel()
		plan := sketch(t, "x Input; a Gain gain=0.5; b Gain gain=2; c Gain gain=-1; oa Probe; ob Probe; oc Probe; x -> a; x -> b; x -> c; a -> oa; b -> ob; c -> oc")
		for i := range 100 {
			r := there(t, plan, flow.Options{BlockFrames: 4, Threads: 4, Schedule: uint64(i)}, flow.Recording{}, x, 1)
			same(t, "input", r.back(t, r.ones()).Inputs["x"].Data, []float64{1.5, 1.5, 1.5, 1.5})
		}
	})
	t.Run("edge order", func(t *testing.T) {
		t.Parallel()
		// Sums of three readers' gradients whose bits depend on the order.
		plan := sketch(t, "x Input; a Gain gain=1e16; b Gain gain=1; c Gain gain=-1e16; oa Probe; ob Probe; oc Probe; x -> a; x -> b; x -> c; a -> oa; b -> ob; c -> oc")
		r := there(t, plan, four, flow.Recording{}, x, 1)
		same(t, "input", r.back(t, r.ones()).Inputs["x"].Data, make([]float64, 4)) // (1e16 + 1) - 1e16; another order gives 1
	})
}

// unsupported is a graph with a node of the first interface on one of two paths.
func unsupported(t *testing.T) {
	plan := sketch(t, `x Input; a Gain gain=0.5; legacy Gain supports_v2=false; b Gain gain=2; c Gain gain=3; o Probe; p Probe;
		x -> a; a -> legacy; legacy -> b; b -> o; x -> c; c -> p`)
	r := there(t, plan, flow.Options{BlockFrames: 4}, flow.Recording{}, map[string]node.Tensor[float64]{"x": row[float64](1, 2, 3, 4)}, 1)
	for sweep := range 2 {
		g := r.back(t, r.ones())
		same(t, "input", g.Inputs["x"].Data, []float64{3, 3, 3, 3})
		if a, b, c := g.Param("a", "gain").Data[0], g.Param("b", "gain").Data[0], g.Param("c", "gain").Data[0]; a != 0 || b != 5 || c != 10 {
			t.Errorf("gradients of a, b and c: %g, %g, %g, want 0, 5, 10", a, b, c)
		}
		if !slices.Equal(g.Unsupported, []string{"legacy"}) {
			t.Errorf("unsupported: %v", g.Unsupported)
		}
		var events []flow.Event
		for e := range r.Events() {
			events = append(events, e)
		}
		if len(events) != 1 || events[0].Code != graph.Unsupported || r.Linked().Nodes[events[0].Node].Name != "legacy" {
			t.Errorf("sweep %d: events %v, want one of node legacy", sweep, events)
		}
	}
	if _, err := r.rec.Backward(r.ones(), flow.Sweep{Strict: true}); err == nil || !strings.Contains(err.Error(), "legacy") {
		t.Errorf("a strict sweep: %v", err)
	}
}

// TestForwardAfterBackward is acceptance A40: a sweep does not change the state of
// the session.
func TestForwardAfterBackward(t *testing.T) {
	t.Parallel()
	plan := sketch(t, `x Input; b Biquad f0=900 q=2; d Delay delay=11.5 interpolation=linear; c Compressor threshold_db=-20; o Probe;
		x -> b; b -> d; d -> c delay_frames=9; c -> o`)
	in := noise[float64](rand.New(rand.NewPCG(1, 1)), 1, 1, 17*16)
	run := func(sweep bool, r flow.Recording) []float64 {
		s := session[float64](t, plan, flow.Options{BlockFrames: 16, Training: true}, nil)
		rec, err := s.Record(r)
		if err != nil {
			t.Fatal(err)
		}
		x, err := s.Input("x")
		if err != nil {
			t.Fatal(err)
		}
		taken := 0
		var last []float64
		for k := range 17 {
			if sweep && k == 16 {
				if _, err := rec.Backward(map[string]node.Tensor[float64]{"o": constant(1.0, taken)}, flow.Sweep{}); err != nil {
					t.Fatal(err)
				}
			}
			copy(x.Data, in.Data[k*16:])
			if err := s.Block(); err != nil {
				t.Fatal(err)
			}
			y, err := s.Probe("o")
			if err != nil {
				t.Fatal(err)
			}
			taken += y.N
			last = slices.Clone(y.Data[:y.N])
		}
		return last
	}
	want := run(false, flow.Recording{})
	if len(want) != 16 {
		t.Fatalf("the last block has %d frames", len(want))
	}
	for name, r := range map[string]flow.Recording{"every call": {}, "snapshots": {Every: 4}, "sparse": {Every: flow.EverySqrt}} {
		same(t, name, run(true, r), want)
	}
}

// TestReset checks that a session restarts, with and without a record, and after
// parameters were set.
func TestReset(t *testing.T) {
	t.Parallel()
	for _, r := range []flow.Recording{{}, {Every: 2}, {Every: flow.EverySqrt}} {
		s := session[float64](t, sketch(t, longPlan), flow.Options{BlockFrames: 32, Training: true}, nil)
		rec, err := s.Record(r)
		if err != nil {
			t.Fatal(err)
		}
		var want [32]byte
		for i := range 4 {
			if i == 2 {
				rec.Stop()
			}
			out, err := s.Run(longInputs[float64](320), 10)
			if err != nil {
				t.Fatal(err)
			}
			got := digest(out, nil)
			if i == 0 {
				want = got
			}
			if got != want {
				t.Errorf("%+v: run %d differs", r, i)
			}
			if i < 2 {
				trip := trip[float64]{s, rec, out}
				trip.back(t, trip.weights())
			}
			s.Reset()
			if m := s.Metrics(); m.Joules != [2]float64{} || s.Blocks() != 0 {
				t.Errorf("after Reset: %v, block %d", m.Joules, s.Blocks())
			}
			if err := s.Set("g", "gain", []float64{5}); err != nil {
				t.Fatal(err)
			}
			s.Reset()
		}
	}
}

// TestBackwardInto sweeps into the gradients of an earlier sweep, filled with
// garbage: the bits are the same, in the same memory.
func TestBackwardInto(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct{ block, blocks int }{{64, 1}, {16, 4}} {
		s := session[float64](t, sketch(t, "x Input; n Biquad; m Gain gain=0.5; o Probe; x -> n; n -> m; m -> o"), flow.Options{BlockFrames: c.block, Training: true}, nil)
		rec, err := s.Record(flow.Recording{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Run(map[string]node.Tensor[float64]{"x": noise[float64](r, 1, 1, 64)}, c.blocks); err != nil {
			t.Fatal(err)
		}
		seed := map[string]node.Tensor[float64]{"o": noise[float64](r, 1, 1, 64)}
		before := slices.Clone(seed["o"].Data)
		want, err := rec.Backward(seed, flow.Sweep{})
		if err != nil {
			t.Fatal(err)
		}
		g := flow.Gradients[float64]{Inputs: map[string]node.Tensor[float64]{"x": constant(math.NaN(), 64)}, Unsupported: []string{"y"}}
		kept := &g.Inputs["x"].Data[0]
		for range 2 {
			if err := rec.BackwardInto(&g, seed, flow.Sweep{}); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(g.Inputs["x"].Data, want.Inputs["x"].Data) || len(g.Params) != len(want.Params) || len(g.Unsupported) > 0 {
				t.Fatalf("blocks of %d: another gradient the second time", c.block)
			}
			for i, p := range g.Params {
				if !slices.Equal(p.Value.Data, want.Params[i].Value.Data) {
					t.Fatalf("blocks of %d: another gradient of %s.%s", c.block, p.Node, p.Name)
				}
			}
			if &g.Inputs["x"].Data[0] != kept || !slices.Equal(seed["o"].Data, before) {
				t.Fatal("new memory, or a seed that was written to")
			}
		}
	}
}

// TestStopKeepsTheProbe ends a recording between two blocks: the probe keeps the
// frames of the last one, and the next block is that of a session never recorded.
func TestStopKeepsTheProbe(t *testing.T) {
	t.Parallel()
	const plan = "x Input; n Biquad; m Biquad; o Probe; p Probe; x -> n; n -> m; m -> o; n -> p"
	var want [][]float64
	for _, record := range []bool{false, true} {
		s := session[float64](t, sketch(t, plan), flow.Options{BlockFrames: 16, Training: true}, nil)
		var rec *flow.Record[float64]
		if record {
			var err error
			if rec, err = s.Record(flow.Recording{}); err != nil {
				t.Fatal(err)
			}
		}
		x, err := s.Input("x")
		if err != nil {
			t.Fatal(err)
		}
		for k := range 4 {
			for i := range x.Data {
				x.Data[i] = float64(i*k%7) - 3
			}
			if err := s.Block(); err != nil {
				t.Fatal(err)
			}
			if record && k == 1 {
				rec.Stop()
			}
			for i, name := range []string{"o", "p"} {
				y, err := s.Probe(name)
				if err != nil {
					t.Fatal(err)
				}
				if !record {
					want = append(want, slices.Clone(y.Data))
				} else if !slices.Equal(y.Data, want[2*k+i]) {
					t.Fatalf("block %d: probe %s took something else", k, name)
				}
			}
		}
	}
}
