package flow

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"atenia/flow/graph"
	"atenia/flow/node"
	"atenia/internal/golden/await"
)

// TestSetInStaticPath: a value that is constant to a node may be another one
// from block to block, in either path.
func TestSetInStaticPath(t *testing.T) {
	t.Parallel()
	var want []float32
	for _, o := range []Options{{DisableStatic: true}, {}, {Threads: 2, eager: true}, {DisableFusion: true}} {
		s := start[float32](t, bank(6, 1, ""), o)
		in, _ := s.Input("in")
		copy(in.Data, noise[float32](64).Data)
		var got []float32
		for k := range 12 {
			for i, v := range []float64{300, 1000, 7000} {
				if k == 3*i+2 {
					if err := s.Set(fmt.Sprintf("b%d", i), "f0", []float64{v}); err != nil {
						t.Fatal(err)
					}
				}
			}
			block(t, s)
			out, _ := s.Probe("out")
			got = append(got, out.Data[:out.N]...)
		}
		if want == nil {
			want = got
		}
		if !slices.Equal(got, want) {
			t.Errorf("%+v: other bits than in the dynamic path", o)
		}
	}
	s := start[float32](t, chain(3), Options{})
	in, _ := s.Input("in")
	in.Data[0] = 1
	for k := range 6 {
		if k == 4 {
			s.Set("g1", "gain", []float64{100})
		}
		block(t, s)
		out, _ := s.Probe("out")
		if loud := out.Data[0] > 50; loud != (k >= 4) {
			t.Errorf("block %d: %g", k, out.Data[0])
		}
	}
}

// TestSuppliedSchedule: nodes that a plan puts into one stage fuse, at any depth,
// and results do not change.
func TestSuppliedSchedule(t *testing.T) {
	t.Parallel()
	p := delayed("")
	p.edges = nil
	for _, n := range []string{"a", "b"} {
		p.node(`{"name": "%s", "type": "Biquad", "params": {"f0": 800}}`, n)
	}
	p.node(`{"name": "g", "type": "Gain", "params": {"gain": 0.5}}`)
	p.node(`{"name": "sum", "type": "Mix"}`)
	p.edge("in", "a", "")
	p.edge("in", "g", "")
	p.edge("g", "b", "")
	p.edge("a", "sum.in0", "")
	p.edge("b", "sum.in1", "")
	p.edge("sum", "out", "")
	in := map[string]node.Tensor[float64]{"in": noise[float64](640)}
	s := start[float64](t, p, Options{})
	want := run(t, s, in, 10)["out"]
	if n := len(biquads(s)); n != 2 {
		t.Errorf("%d groups of biquads without a schedule, want 2", n)
	}
	cohort := func(typ string, names ...string) string {
		return fmt.Sprintf(`{"cohorts": [{"type": %q, "nodes": ["%s"]}]}`, typ, strings.Join(names, `", "`))
	}
	p.rest = `, "ipls": {"stages": [` + strings.Join([]string{cohort("Input", "in"), cohort("Gain", "g"), cohort("Biquad", "a", "b"), cohort("Mix", "sum"), cohort("Probe", "out")}, ",") + `]}`
	s = start[float64](t, p, Options{})
	got := run(t, s, in, 10)["out"]
	if g := biquads(s); len(g) != 1 || !g[0].Fused || g[0].Stage != 2 {
		t.Errorf("groups with a schedule: %+v", g)
	}
	if !slices.Equal(got.Data, want.Data) {
		t.Error("the schedule changed the result")
	}
}

// TestCapacity: a channel before a closed gate grows, up to the plan's capacity, if there is one; then its writer waits,
// and nothing is lost. A step that must not allocate reports the blocks that an Input cannot give.
func TestCapacity(t *testing.T) {
	closed := func(capacity string) *planText {
		p := delayed(`, "synchrony_gates": [5]` + capacity)
		p.rest = `, "gates": [{"id": 5, "kind": "host"}]`
		return p
	}
	x := counter[float64](64 * 40)
	for _, capacity := range []string{"", `, "capacity_frames": 300`} {
		for _, opens := range [][]int64{{39}, {}, {3, 9, 10, 11, 20, 21, 22, 23, 24, 25}} {
			s := start[float64](t, closed(capacity), Options{})
			s.OpenGate(5, opens...)
			if out := run(t, s, map[string]node.Tensor[float64]{"in": x}, 40)["out"]; !slices.Equal(out.Data, x.Data) {
				t.Errorf("capacity %q, open in %v: %d frames came", capacity, opens, out.N)
			}
			if o := s.Occupancies()[0]; (o.Capacity <= 512) != (capacity != "") {
				t.Errorf("capacity %q, open in %v: room for %d frames", capacity, opens, o.Capacity)
			}
		}
	}
	s := start[float64](t, closed(`, "capacity_frames": 300`), Options{})
	for k := range 10 {
		block(t, s)
		if held, err := s.Waiting("in"); held != (k >= 4) || err != nil || s.Occupancies()[0].Used > 300 {
			t.Errorf("block %d: the input waits: %v, %v; the channel has %d frames", k, held, err, s.Occupancies()[0].Used)
		}
	}
	if n := await.Allocs(20, func() { s.Block() }); n > 0 {
		t.Errorf("a block that waits allocates %g times", n)
	}
	if events := slices.Collect(s.Events()); len(events) > 0 || s.Metrics().LostBlocks > 0 {
		t.Errorf("waiting is no fault: %+v", events)
	}
	live := start[float64](t, closed(`, "capacity_frames": 300`), Options{})
	step := live.Step()
	for range 10 {
		if code := step(); code != graph.Success {
			t.Errorf("step: %v", code)
		}
	}
	if events := slices.Collect(live.Events()); len(events) != 6 || events[0].Kind != Overrun || events[0].Block != 4 || live.Metrics().LostBlocks != 6 {
		t.Errorf("lost in real time: %d, %+v", live.Metrics().LostBlocks, events)
	}
}

// TestDeadlockEnlarges: where capacities of the plan let processes wait for each other, the smallest full channel grows
// until they go on, and an event says so; frames are those of a plan without capacities.
func TestDeadlockEnlarges(t *testing.T) {
	t.Parallel()
	join := func(dry, wet string) *planText {
		p := &planText{}
		for _, n := range []string{`{"name": "in", "type": "Input"}`, `{"name": "late", "type": "Gain"}`, `{"name": "mix", "type": "Mix"}`, `{"name": "out", "type": "Probe"}`} {
			p.node("%s", n)
		}
		p.edge("in", "late", "")
		p.edge("in", "mix.in0", dry)
		p.edge("late", "mix.in1", `, "delay_frames": 100`+wet)
		p.edge("mix", "out", "")
		return p
	}
	in := map[string]node.Tensor[float64]{"in": noise[float64](64 * 20)}
	want := run(t, start[float64](t, join("", ""), Options{}), in, 20)["out"]
	for _, c := range []struct {
		dry, wet string
		grown    map[int]int // capacity by edge
	}{
		{`, "capacity_frames": 192`, "", nil},
		{`, "capacity_frames": 100`, "", map[int]int{1: 192}},
		{`, "capacity_frames": 191`, `, "capacity_frames": 150`, map[int]int{1: 192, 2: 192}},
	} {
		for _, static := range []bool{true, false} {
			s := start[float64](t, join(c.dry, c.wet), Options{DisableStatic: !static})
			grown := map[int]int{}
			for e := range s.Events() {
				if e.Kind != Enlarged || !strings.Contains(e.Reason(), "deadlock") {
					t.Errorf("%+v", e)
				}
				grown[e.Edge] = e.Capacity
			}
			if !maps.Equal(grown, c.grown) {
				t.Errorf("%s%s: grown to %v, want %v", c.dry, c.wet, grown, c.grown)
			}
			if got := run(t, s, in, 20)["out"]; !slices.Equal(got.Data, want.Data) {
				t.Errorf("%s%s: other frames than without capacities", c.dry, c.wet)
			}
		}
	}
}

// sieve passes even numbers only: it gives fewer tokens than it takes.
type sieve[F node.Float] struct{}

func (sieve[F]) Reset() {}
func (sieve[F]) Forward(c *node.Call[F]) graph.Code {
	c.Produced = 0
	for i := range c.Tokens {
		if (c.Frame0+int64(i))/50%2 == 0 {
			continue // nothing for long stretches
		}
		for r := range c.In[0].B * c.In[0].C {
			c.Out[0].Row(r)[c.Produced] = c.In[0].Row(r)[i]
		}
		c.Produced++
	}
	if c.Produced == 0 {
		return graph.Pending
	}
	return graph.Success
}

// TestDynamic: a graph with a static part and a node that gives fewer tokens than
// it takes.
func TestDynamic(t *testing.T) {
	t.Parallel()
	types := append(node.Table{{
		Name: "Sieve", Ins: []string{"in"}, Outs: []string{"out"}, Dynamic: true,
		New32: func(node.Config) (node.Instance[float32], error) { return sieve[float32]{}, nil },
		New64: func(node.Config) (node.Instance[float64], error) { return sieve[float64]{}, nil },
	}}, ShippedTypes()...)
	p := delayed("")
	p.edges = nil
	p.nodes[0] = `{"name": "in", "type": "Input", "params": {"channels": 2}}`
	p.node(`{"name": "sieve", "type": "Sieve"}`)
	p.node(`{"name": "g", "type": "Gain", "params": {"gain": 2}}`)
	p.node(`{"name": "all", "type": "Probe"}`)
	p.edge("in", "g", "")
	p.edge("g", "sieve", "")
	p.edge("sieve", "out", "")
	p.edge("g", "all", "")
	const n = 64 * 12
	x := node.Tensor[float64]{B: 1, C: 2, N: n}
	var want [2][]float64
	for r := range 2 {
		for i := range n {
			v := float64(1000*r + i)
			x.Data = append(x.Data, v)
			if i/50%2 == 1 {
				want[r] = append(want[r], 2*v)
			}
		}
	}
	for _, o := range []Options{{}, {DisableStatic: true}, {BlockFrames: 7}, {Threads: 2, eager: true}} {
		o.Catalog = types
		s := start[float64](t, p, o)
		out := run(t, s, map[string]node.Tensor[float64]{"in": x}, n/s.link.BlockFrames)
		y := out["out"]
		for r := range want {
			if n := len(want[r]); y.N < n-7 || !slices.Equal(y.Row(r), want[r][:y.N]) {
				t.Errorf("%+v: row %d: %d frames, want %d", o, r, y.N, n)
			}
		}
		if o.BlockFrames == 0 && out["all"].N != n {
			t.Errorf("%d frames beside it", out["all"].N)
		}
	}
}

// TestStepUnderCollection runs steps while the collector works continuously. A
// step must not write pointers, since a thread of a real-time executor has no
// write barrier. The test cannot find a missing barrier, but it finds tensors
// that the collector freed.
func TestStepUnderCollection(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(1))
	s, ref := start[float32](t, looper(), Options{}), start[float32](t, looper(), Options{})
	step, x := s.Step(), noise[float32](64*400)
	in, _ := s.Input("in")
	also, _ := ref.Input("in")
	var waste [][]float32
	for k := range 400 {
		copy(in.Data, x.Data[64*k:])
		copy(also.Data, x.Data[64*k:])
		if code := step(); code != graph.Success {
			t.Fatal(code)
		}
		waste = append(waste, make([]float32, 4096))
		if k%40 == 0 {
			waste = nil
			runtime.GC()
		}
		block(t, ref)
		a, _ := s.Probe("out")
		b, _ := ref.Probe("out")
		if !slices.Equal(a.Data, b.Data) {
			t.Fatalf("block %d: other bits", k)
		}
		runtime.KeepAlive(waste)
	}
}

// shared is a channel with two readers: one that takes each block in place, and one that more makes lag or wait.
func shared(typ, more, rest string) *planText {
	p := &planText{rest: rest}
	p.node(`{"name": "in", "type": "Input"}`)
	p.node(`{"name": "other", "type": %s}`, typ)
	p.node(`{"name": "gain", "type": "Gain", "params": {"gain": 0.5}}`)
	p.node(`{"name": "slow", "type": "Probe"}`)
	p.node(`{"name": "out", "type": "Probe"}`)
	p.edge("in", "other", more)
	p.edge("in", "gain", "")
	p.edge("other", "slow", "")
	p.edge("gain", "out", "")
	return p
}

// TestSharedChannel: a reader that takes blocks in place frees the ring for the others as they proceed, whatever keeps
// them back: the same frames as on the dynamic path in every block, by Block and by Step, in rings that do not grow.
func TestSharedChannel(t *testing.T) {
	t.Parallel()
	asked := `"AsyncResample", "params": {"ratio": 0.999}`
	wait := shared(asked, "", "") // the ring of in is needed by the barrier alone, which counts its frames
	wait.node(`{"name": "late", "type": "Gain"}`)
	wait.node(`{"name": "held", "type": "Probe"}`)
	wait.edges = nil
	wait.edge("in", "gain", "")
	wait.edge("gain", "other", `, "synchrony_gates": [7]`)
	wait.edge("in", "late", `, "synchrony_gates": [7]`)
	wait.edge("other", "slow", "")
	wait.edge("late", "held", "")
	wait.edge("gain", "out", "")
	apart := shared(`"Gain"`, `, "delay_frames": 100`, "") // the asked node reads another channel
	apart.node(`{"name": "tone", "type": "LFO"}`)
	apart.node(`{"name": "asked", "type": %s}`, asked)
	apart.node(`{"name": "third", "type": "Probe"}`)
	apart.edge("tone", "asked", "")
	apart.edge("asked", "third", "")
	for name, p := range map[string]*planText{
		"asked":        shared(asked, "", ""),
		"asked later":  shared(asked, `, "delay_frames": 100`, ""),
		"tempo":        shared(`"Gain"`, `, "synchrony_gates": [4]`, `, "gates": [{"id": 4, "kind": "tempo", "period_frames": 48}]`),
		"barrier":      wait,
		"held, beside": apart,
	} {
		t.Run(name, func(t *testing.T) {
			const blocks, warm = 3000, 50
			s, step, ref := start[float32](t, p, Options{}), start[float32](t, p, Options{}), start[float32](t, p, Options{DisableStatic: true})
			turn := step.Step()
			var rings []Occupancy
			x := noise[float32](64 * 50)
			for k := range blocks {
				for _, s := range []*Session[float32]{s, step, ref} {
					in, _ := s.Input("in")
					copy(in.Data, x.Data[k%50*64:])
				}
				block(t, s)
				block(t, ref)
				if code := turn(); code != graph.Success {
					t.Fatalf("block %d: step: %v", k, code)
				}
				for _, q := range ref.probes {
					want, _ := ref.Probe(q.Name)
					for by, s := range map[string]*Session[float32]{"block": s, "step": step} {
						if got, _ := s.Probe(q.Name); got.N != want.N || !slices.Equal(got.Data[:got.N], want.Data[:want.N]) {
							t.Fatalf("block %d, %s: %s took %d frames, want %d, or other ones", k, by, q.Name, got.N, want.N)
						}
					}
				}
				if k == warm {
					rings = s.Occupancies()
				}
			}
			for i, o := range s.Occupancies() {
				if o.Capacity != rings[i].Capacity {
					t.Errorf("edge %d: room for %d frames after %d blocks, %d after %d", i, rings[i].Capacity, warm, o.Capacity, blocks)
				}
			}
		})
	}
}

// TestBarrierDeadlock: a barrier that waits for what comes after it is refused. Where a prefill lies between that is
// shorter than the block it wants, an event tells, the rest of the plan runs, and the stream comes at its end; with a longer
// one the plan runs.
func TestBarrierDeadlock(t *testing.T) {
	t.Parallel()
	after := func(prefill int) *planText {
		p := delayed("")
		p.edges = nil
		p.node(`{"name": "gain", "type": "Gain"}`)
		p.node(`{"name": "dry", "type": "Probe"}`)
		p.edge("in", "gain", `, "synchrony_gates": [4]`)
		p.edge("in", "dry", "")
		p.edge("gain", "out", fmt.Sprintf(`, "synchrony_gates": [4], "delay_frames": %d, "delay_kind": "prefill"`, prefill))
		return p
	}
	_, err := New[float64](after(0).parse(t), Options{})
	if e, ok := errors.AsType[*graph.Error](err); !ok || e.Code != graph.Deadlock || !slices.Contains(e.Names, "gain") {
		t.Errorf("without a prefill: %v", err)
	}
	x := counter[float64](640)
	for _, n := range []int{1, 63, 64} {
		s := start[float64](t, after(n), Options{})
		for range 10 {
			in, _ := s.Input("in")
			copy(in.Data, x.Data[64*s.Blocks():])
			block(t, s)
			dry, _ := s.Probe("dry")
			if out, _ := s.Probe("out"); dry.N != 64 || (out.N == 64) != (n == 64) {
				t.Errorf("prefill %d: %d frames in a block, %d beside", n, out.N, dry.N)
			}
		}
		events := slices.Collect(s.Events())
		if (len(events) == 1) != (n < 64) || len(events) > 0 && !strings.HasSuffix(events[0].Reason(), "edges[2] has fewer frames than it needs at once: set its delay_frames to at least 64") {
			t.Errorf("prefill %d: %+v", n, events)
		}
		s.Reset()
		if out := run(t, s, map[string]node.Tensor[float64]{"in": x}, 10)["out"]; out.N != 640+n || !slices.Equal(out.Data[n:], x.Data) {
			t.Errorf("prefill %d: %d frames", n, out.N)
		}
	}
}

// TestCycleWaits: a cycle that waits for room goes on when there is some. Stopped between two slices of a block it
// would not: its prefill would be divided among its edges.
func TestCycleWaits(t *testing.T) {
	t.Parallel()
	p := &planText{rest: `, "gates": [{"id": 5, "kind": "host"}]`}
	p.node(`{"name": "in", "type": "Input"}`)
	p.node(`{"name": "mix", "type": "Mix"}`)
	p.node(`{"name": "back", "type": "Gain", "params": {"gain": -0.4}}`)
	p.node(`{"name": "out", "type": "Probe"}`)
	p.edge("in", "mix.in0", "")
	p.edge("mix", "back", "")
	p.edge("back", "mix.in1", `, "delay_frames": 58`)
	p.edge("back", "out", `, "delay_frames": 65, "delay_kind": "prefill", "capacity_frames": 330, "synchrony_gates": [5]`)
	s := start[float64](t, p, Options{BlockFrames: 100})
	for k := range int64(30) {
		if k >= 6 {
			s.OpenGate(5, k)
		}
		block(t, s)
	}
	if n, _ := s.Fired(3); n != 24*100 {
		t.Errorf("%d frames came in 24 blocks with an open gate, want 2400", n)
	}
}

// TestSmallestGrows: of two full channels of one deadlock the smaller one grows.
func TestSmallestGrows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		first, second int
		edge          int
	}{{64, 100, 1}, {127, 64, 2}} {
		p := &planText{}
		for _, n := range []string{`{"name": "in", "type": "Input"}`, `{"name": "late", "type": "Gain"}`, `{"name": "dry", "type": "Gain"}`, `{"name": "mix", "type": "Mix"}`, `{"name": "out", "type": "Probe"}`} {
			p.node("%s", n)
		}
		p.edge("in", "late", "")
		p.edge("in", "dry", fmt.Sprintf(`, "capacity_frames": %d`, c.first))
		p.edge("dry", "mix.in0", fmt.Sprintf(`, "capacity_frames": %d`, c.second))
		p.edge("late", "mix.in1", `, "delay_frames": 100`)
		p.edge("mix", "out", "")
		events := slices.Collect(start[float64](t, p, Options{}).Events())
		if len(events) != 1 || events[0].Edge != c.edge || events[0].Capacity != 128 {
			t.Errorf("capacities %d and %d: %+v", c.first, c.second, events)
		}
	}
}
