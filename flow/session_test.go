package flow

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"atenia/flow/graph"
	"atenia/flow/node"
	"atenia/internal/golden/await"
)

// A plan is written as a list of nodes and a list of edges, each the inside of
// a JSON object.
type planText struct {
	nodes, edges []string
	rest         string
}

func (p *planText) node(format string, args ...any) {
	p.nodes = append(p.nodes, fmt.Sprintf(format, args...))
}
func (p *planText) edge(from, to, more string) {
	p.edges = append(p.edges, fmt.Sprintf(`{"source": %q, "target": %q%s}`, from, to, more))
}

func (p *planText) parse(t testing.TB) *graph.Plan {
	t.Helper()
	text := `{"nodes": [` + strings.Join(p.nodes, ",") + `], "edges": [` + strings.Join(p.edges, ",") + `]` + p.rest + `}`
	plan, err := graph.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return plan
}

// start makes a session of a plan.
func start[F node.Float](t testing.TB, p *planText, o Options) *Session[F] {
	t.Helper()
	s, err := New[F](p.parse(t), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// counter is 0, 1, 2, … as a stream of one channel.
func counter[F node.Float](n int) node.Tensor[F] {
	x := node.Tensor[F]{Data: make([]F, n), B: 1, C: 1, N: n}
	for i := range x.Data {
		x.Data[i] = F(i)
	}
	return x
}

// run feeds whole streams.
func run[F node.Float](t testing.TB, s *Session[F], inputs map[string]node.Tensor[F], blocks int) map[string]node.Tensor[F] {
	t.Helper()
	out, err := s.Run(inputs, blocks)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// block runs one block.
func block[F node.Float](t testing.TB, s *Session[F]) {
	t.Helper()
	if err := s.Block(); err != nil {
		t.Fatal(err)
	}
}

// first is the block in which a node fired first.
func first[F node.Float](t testing.TB, s *Session[F], name string) int64 {
	t.Helper()
	p, err := s.find(name, graph.Inner)
	if err != nil {
		t.Fatal(err)
	}
	return p.first
}

// delayed is an input, an edge with more, and a probe.
func delayed(more string) *planText {
	p := &planText{}
	p.node(`{"name": "in", "type": "Input"}`)
	p.node(`{"name": "out", "type": "Probe"}`)
	p.edge("in", "out", more)
	return p
}

func TestDelay(t *testing.T) {
	t.Parallel()
	t.Run("A22", func(t *testing.T) {
		want := []int64{0, 1, 1, 1, 2, 2, 2, 3, 4}
		for i, d := range []int{0, 1, 63, 64, 65, 100, 128, 192, 193} {
			s := start[float64](t, delayed(fmt.Sprintf(`, "delay_frames": %d`, d)), Options{})
			out := run(t, s, map[string]node.Tensor[float64]{"in": counter[float64](10 * 64)}, 10)["out"]
			if got := first(t, s, "out"); got != want[i] {
				t.Errorf("D = %d: first firing in block %d, want %d", d, got, want[i])
			}
			if out.Data[0] != 0 || out.Data[1] != 1 {
				t.Errorf("D = %d: the first frames are %g, %g: not those that were written first", d, out.Data[0], out.Data[1])
			}
		}
	})
	t.Run("A25", func(t *testing.T) {
		p := delayed(`, "delay_frames": 128, "synchrony_gates": [5]`)
		p.rest = `, "gates": [{"id": 5, "kind": "host"}]`
		s := start[float64](t, p, Options{})
		for k := range int64(7) {
			if got, want := s.readers[0].readable(0, false), max(0, 64*k-128); got != want {
				t.Errorf("after %d blocks %d frames can be read, want %d", k, got, want)
			}
			block(t, s)
		}
	})
	t.Run("A26", func(t *testing.T) {
		r := rand.New(rand.NewPCG(26, 0))
		for range 200 {
			d, frames := r.IntN(301), []int{1, 7, 64}[r.IntN(3)]
			p := delayed(fmt.Sprintf(`, "delay_frames": %d, "synchrony_gates": [5]`, d))
			p.rest = `, "gates": [{"id": 5, "kind": "host"}]`
			s := start[float64](t, p, Options{BlockFrames: frames})
			blocks := 10 + 600/frames
			for k := range blocks {
				if r.IntN(3) > 0 {
					if err := s.OpenGate(5, int64(k)); err != nil {
						t.Fatal(err)
					}
				}
			}
			x := counter[float64](blocks * frames)
			out := run(t, s, map[string]node.Tensor[float64]{"in": x}, blocks)["out"]
			if !slices.Equal(out.Data, x.Data) {
				t.Fatalf("D = %d, blocks of %d: %d frames came, not all in order", d, frames, out.N)
			}
		}
	})
	t.Run("A27", func(t *testing.T) {
		s := start[float64](t, delayed(`, "delay_frames": 100`), Options{})
		if out := run(t, s, map[string]node.Tensor[float64]{"in": counter[float64](1280)}, 20)["out"]; out.N != 1280 {
			t.Errorf("%d frames, want 1280", out.N)
		}
	})
}

func TestGates(t *testing.T) {
	t.Parallel()
	t.Run("A28", func(t *testing.T) {
		p := delayed(`, "synchrony_gates": [0, 3]`)
		p.rest = `, "gates": [{"id": 0, "kind": "host"}, {"id": 3, "kind": "host"}]`
		s := start[float64](t, p, Options{})
		for k := range int64(10) {
			if k >= 2 {
				s.OpenGate(0, k)
			}
			if k >= 5 {
				s.OpenGate(3, k)
			}
			block(t, s)
		}
		if got := first(t, s, "out"); got != 5 {
			t.Errorf("first firing in block %d, want 5", got)
		}
	})
	t.Run("A29", func(t *testing.T) {
		p := &planText{}
		for _, n := range []string{"a", "b"} {
			p.node(`{"name": "p%s", "type": "Input"}`, n)
			p.node(`{"name": "c%s", "type": "Probe"}`, n)
		}
		p.edge("pa", "ca", `, "synchrony_gates": [9]`)
		p.edge("pb", "cb", `, "synchrony_gates": [9], "delay_frames": 192`)
		s := start[float64](t, p, Options{})
		for range 6 {
			block(t, s)
		}
		if a, b := first(t, s, "ca"), first(t, s, "cb"); a != 3 || b != 3 {
			t.Errorf("first firings in blocks %d and %d, want 3", a, b)
		}
	})
	t.Run("A30", func(t *testing.T) {
		seeds := uint64(40)
		if await.Long() {
			seeds = 100
		}
		for seed := range seeds {
			orderHolds(t, seed)
		}
	})
}

// orderHolds runs a random graph of 200 nodes with 50 barriers and checks the
// order of calls: within a block a node is called after those it reads from and
// those its barriers wait for.
func orderHolds(t *testing.T, seed uint64) {
	const nodes, gates = 200, 50
	r := rand.New(rand.NewPCG(30, seed))
	pivot := make([]int, gates)
	for g := range pivot {
		pivot[g] = 1 + r.IntN(nodes-1)
	}
	p := &planText{}
	p.node(`{"name": "n0", "type": "Input"}`)
	for v := 1; v < nodes; v++ {
		n := 1 + r.IntN(3)
		p.node(`{"name": "n%d", "type": "Mix", "params": {"inputs": %d}}`, v, n)
		for i := range n {
			u := r.IntN(v)
			more := ""
			// A gate joins edges across its pivot, so that no node waits for its
			// descendants.
			if g := r.IntN(gates); u < pivot[g] && pivot[g] <= v {
				more = fmt.Sprintf(`, "synchrony_gates": [%d]`, g)
			}
			if r.IntN(10) == 0 {
				more += fmt.Sprintf(`, "delay_frames": %d`, r.IntN(20))
			}
			p.edge(fmt.Sprintf("n%d", u), fmt.Sprintf("n%d.in%d", v, i), more)
		}
	}
	s := start[float32](t, p, Options{BlockFrames: 8, Log: true})
	for range 24 {
		block(t, s)
	}
	type call struct {
		block int64
		node  string
	}
	at := map[call]int{}
	for i, f := range s.Log() {
		at[call{f.Block, f.Node}] = i
	}
	l := s.Linked()
	full := 0
	for k := range s.Blocks() {
		check := func(u, v int) {
			i, ok := at[call{k, l.Nodes[u].Name}]
			j, there := at[call{k, l.Nodes[v].Name}]
			if ok && there && i > j {
				t.Errorf("seed %d block %d: %s before %s", seed, k, l.Nodes[v].Name, l.Nodes[u].Name)
			}
			full++
		}
		for i := range l.Edges {
			check(l.Edges[i].Src, l.Edges[i].Dst)
		}
		for _, c := range l.Control {
			check(l.Edges[c.Edge].Src, c.Dst)
		}
	}
	if len(l.Control) == 0 || full == 0 {
		t.Fatalf("seed %d: no control edges", seed)
	}
}

// looper is the graph on which determinism is shown: six nodes that feed back,
// fan out, hold and prefill.
func looper() *planText {
	p := &planText{}
	p.node(`{"name": "in", "type": "Input"}`)
	p.node(`{"name": "sum", "type": "Mix"}`)
	p.node(`{"name": "low", "type": "Biquad", "params": {"f0": 900}}`)
	p.node(`{"name": "back", "type": "Gain", "params": {"gain": -0.6}}`)
	p.node(`{"name": "late", "type": "Gain", "params": {"gain": 0.3}}`)
	p.node(`{"name": "out", "type": "Probe"}`)
	p.node(`{"name": "mix", "type": "Mix", "params": {"inputs": 3}}`)
	p.edge("in", "sum.in0", "")
	p.edge("sum", "low", "")
	p.edge("low", "back", `, "delay_frames": 23`)
	p.edge("back", "sum.in1", "")
	p.edge("in", "late", `, "delay_frames": 100`)
	p.edge("low", "mix.in0", "")
	p.edge("late", "mix.in1", "")
	p.edge("in", "mix.in2", `, "delay_frames": 40, "delay_kind": "prefill"`)
	p.edge("mix", "out", "")
	return p
}

func noise[F node.Float](n int) node.Tensor[F] {
	r := rand.New(rand.NewPCG(34, 0))
	x := counter[F](n)
	for i := range x.Data {
		x.Data[i] = F(r.Float64()*2 - 1)
	}
	return x
}

func TestKahnDeterminism(t *testing.T) {
	t.Parallel()
	t.Run("A34", func(t *testing.T) {
		in := map[string]node.Tensor[float32]{"in": noise[float32](64 * 12)}
		want := run(t, start[float32](t, looper(), Options{DisableStatic: true}), in, 12)["out"]
		same := func(what string, o Options) {
			got := run(t, start[float32](t, looper(), o), in, 12)["out"]
			if !slices.Equal(got.Data, want.Data) {
				t.Errorf("%s: other bits", what)
			}
		}
		for seed := range uint64(200) {
			same(fmt.Sprintf("schedule %d", seed+1), Options{Schedule: seed + 1})
		}
		for _, n := range []int{1, 2, 4} {
			same(fmt.Sprintf("%d threads", n), Options{Threads: n, eager: true})
			same(fmt.Sprintf("%d threads, unfused", n), Options{Threads: n, eager: true, DisableFusion: true})
		}
	})
}

// bank returns n parallel biquads between an input and a sum; every second one
// has the given options.
func bank(n int, ratio int, gate string) *planText {
	p := &planText{}
	p.node(`{"name": "in", "type": "Input"}`)
	p.node(`{"name": "sum", "type": "Mix", "params": {"inputs": %d}}`, n)
	p.node(`{"name": "out", "type": "Probe"}`)
	for i := range n {
		more := ""
		if i%2 == 1 {
			more = gate
		}
		p.node(`{"name": "b%d", "type": "Biquad", "oversample_ratio": %d, "params": {"f0": %d, "q": 0.9}}`, i, 1+(ratio-1)*(i%2), 200+70*i)
		p.edge("in", fmt.Sprintf("b%d", i), more)
		p.edge(fmt.Sprintf("b%d", i), fmt.Sprintf("sum.in%d", i), "")
	}
	p.edge("sum", "out", "")
	return p
}

func biquads[F node.Float](s *Session[F]) (groups []Group) {
	for _, g := range s.Groups() {
		if g.Type == "Biquad" {
			groups = append(groups, g)
		}
	}
	return groups
}

func TestFuse(t *testing.T) {
	t.Parallel()
	in := map[string]node.Tensor[float32]{"in": noise[float32](64 * 9)}
	same := func(t *testing.T, p *planText, groups int) {
		t.Helper()
		s := start[float32](t, p, Options{})
		if g := biquads(s); len(g) != groups {
			t.Errorf("%d groups of biquads, want %d: %+v", len(g), groups, g)
		}
		got := run(t, s, in, 9)["out"]
		want := run(t, start[float32](t, p, Options{DisableFusion: true}), in, 9)["out"]
		if !slices.Equal(got.Data, want.Data) {
			t.Error("fused and unfused differ")
		}
	}
	t.Run("A35", func(t *testing.T) {
		same(t, bank(96, 1, ""), 1)
		if g := biquads(start[float32](t, bank(96, 1, ""), Options{})); !g[0].Fused {
			t.Error("not fused")
		}
	})
	t.Run("A36", func(t *testing.T) {
		same(t, bank(96, 2, ""), 2)
		same(t, bank(1, 1, ""), 1)
		same(t, bank(96, 1, `, "synchrony_gates": [4]`), 2)
		p := delayed("")
		p.edges = nil
		p.node(`{"name": "b", "type": "Biquad"}`)
		p.edge("in", "b", "")
		p.edge("b", "out", "")
		s := start[float32](t, p, Options{BlockFrames: 1})
		if out := run(t, s, in, 3)["out"]; out.N != 3 || len(biquads(s)) != 1 {
			t.Errorf("B = C = F = 1: %d frames in %d groups", out.N, len(biquads(s)))
		}
	})
}

func TestSession(t *testing.T) {
	t.Parallel()
	t.Run("A21", func(t *testing.T) {
		p := delayed("")
		p.edges = nil
		p.nodes[0] = `{"name": "in", "type": "Input", "params": {"channels": 2}}`
		p.node(`{"name": "g", "type": "Gain", "oversample_ratio": 8}`)
		p.edge("in", "g", "")
		p.edge("g", "out", "")
		s := start[float32](t, p, Options{})
		if m := s.Memory()[2]; m.Node != "g" || m.Workspace < 4096 {
			t.Errorf("workspace %+v, want 4096 bytes", m)
		}
		for _, g := range s.Groups() {
			if g.Type == "Gain" && g.Ratio != 8 {
				t.Errorf("group %+v", g)
			}
		}
	})
	t.Run("A23", func(t *testing.T) {
		for more, want := range map[string]float64{"": 0, `, "supports_v2": false`: 0, `, "supports_v2": true`: 7} {
			s := start[float64](t, broken(more), Options{Catalog: catalog(0, 0, -1)})
			block(t, s)
			if got := s.Metrics().Joules[Forward]; got != want {
				t.Errorf("%q: %g J, want %g", more, got, want)
			}
		}
	})
	t.Run("A24", func(t *testing.T) { setHeat(t) })
	t.Run("A52", func(t *testing.T) { override(t) })
	t.Run("A53", func(t *testing.T) {
		s := start[float64](t, integration, Options{Log: true})
		for range 10 {
			block(t, s)
		}
		if got := s.Log().String(); got != integrationLog {
			t.Errorf("log\n%swant\n%s", got, integrationLog)
		}
	})
}

// TestNoAllocations is not parallel, since it counts the allocations of the
// process.
func TestNoAllocations(t *testing.T) {
	t.Run("A56", func(t *testing.T) {
		for i, o := range []Options{{}, {DisableStatic: true}, {Scan: ScanAll}} {
			s := start[float32](t, looper(), o)
			for range 8 {
				block(t, s)
			}
			if n := await.Allocs([]int{100_000, 10_000, 10_000}[i], func() { block(t, s) }); n != 0 {
				t.Errorf("%+v: %g allocations a block", o, n)
			}
		}
	})
}

// setHeat checks that a parameter must have its default's shape.
func setHeat(t *testing.T) {
	p := &planText{}
	p.node(`{"name": "c", "type": "Constant", "params": {"value": 0.5}}`)
	p.node(`{"name": "g", "type": "Gain", "supports_v2": true, "params": {"gain": 1.0, "thermo.heat": {"shape": [1, 1, 4], "data": [0, 0, 0, 0]}}}`)
	p.node(`{"name": "out", "type": "Probe"}`)
	p.edge("c", "g", "")
	p.edge("g", "out", "")
	for blocks := range 6 { // in the dynamic path, and after it
		s := start[float64](t, p, Options{BlockFrames: 4})
		for range blocks {
			block(t, s)
		}
		err := s.Set("g", "thermo.heat", []float64{1})
		if e, ok := errors.AsType[*graph.Error](err); !ok || e.Code != graph.BadShape || !strings.Contains(e.Text, "[1, 1, 1]") || !strings.Contains(e.Text, "[1, 1, 4]") {
			t.Errorf("one frame for four: %v", err)
		}
		if err := s.Set("g", "thermo.heat", []float64{.1, .2, .3, .4}); err != nil {
			t.Fatal(err)
		}
		block(t, s)
		out, _ := s.Probe("out")
		if !slices.Equal(out.Data[:out.N], []float64{.5, .5, .5, .5}) {
			t.Errorf("output %v", out)
		}
		if got := s.Metrics().Joules[Forward]; math.Abs(got-1) > 1e-12 {
			t.Errorf("after %d blocks: %g J, want 1", blocks, got)
		}
	}
}

// override: default, override, default again, in a chain that shows its layout.
func override(t *testing.T) {
	p := &planText{}
	p.node(`{"name": "c", "type": "Constant", "params": {"value": 0.25, "batches": 2}}`)
	p.node(`{"name": "a", "type": "Gain", "params": {"gain": {"shape": [2, 1, 4], "data": [1, 2, 3, 4, 0.5, 0.25, 0.125, 0]}}}`)
	p.node(`{"name": "b", "type": "Gain", "params": {"gain": {"shape": [2, 1, 4], "data": [2, 2, 2, 2, -1, -1, -1, -1]}}}`)
	p.node(`{"name": "out", "type": "Probe"}`)
	p.edge("c", "a", "")
	p.edge("a", "b", "")
	p.edge("b", "out", "")
	s := start[float64](t, p, Options{BlockFrames: 4})
	want := func(what string, y ...float64) {
		t.Helper()
		block(t, s)
		if out, _ := s.Probe("out"); !slices.Equal(out.Data, y) {
			t.Errorf("%s: %v, want %v", what, out.Data, y)
		}
	}
	plain := []float64{.5, 1, 1.5, 2, -.125, -.0625, -.03125, 0}
	want("default", plain...)
	want("default", plain...)
	if err := s.Set("a", "gain", []float64{1, 1, 1, 1, 2, 2, 2, 2}); err != nil {
		t.Fatal(err)
	}
	want("override", .5, .5, .5, .5, -.5, -.5, -.5, -.5)
	want("override", .5, .5, .5, .5, -.5, -.5, -.5, -.5)
	// Two default lengths, one a block.
	if err := s.Set("a", "gain", []float64{1, 1, 1, 1, 4, 4, 4, 4, 2, 2, 2, 2, 8, 8, 8, 8}); err != nil {
		t.Fatal(err)
	}
	want("first", .5, .5, .5, .5, -.5, -.5, -.5, -.5)
	want("second", 2, 2, 2, 2, -2, -2, -2, -2)
	want("and stays", 2, 2, 2, 2, -2, -2, -2, -2)
	if err := s.Clear("a", "gain"); err != nil {
		t.Fatal(err)
	}
	want("clear", plain...)

	again := start[float64](t, p, Options{BlockFrames: 4})
	if err := again.Play(s.Control()); err != nil {
		t.Fatal(err)
	}
	for range 7 {
		block(t, again)
	}
	if out, _ := again.Probe("out"); out.Data[3] != 2 || out.Data[7] != -2 {
		t.Errorf("played again: %v", out.Data)
	}
	s = again
	want("played again", plain...)
}
