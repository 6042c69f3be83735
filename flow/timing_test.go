package flow

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"atenia/flow/graph"
	"atenia/flow/node"
	"atenia/internal/golden/await"
)

// A ticker is a clock that nodes of type Slow advance.
type ticker struct{ now int64 }

func (k *ticker) read() int64 { return k.now }

// A sleeper doubles its input and takes ns at blocks from to below to.
type sleeper[F node.Float] struct {
	clock    *ticker
	from, to int64
	calls    *int
}

func (sleeper[F]) Reset() {}
func (p sleeper[F]) Forward(c *node.Call[F]) graph.Code {
	*p.calls++
	p.clock.now += 10
	if b := c.Frame0 / 64; b >= p.from && b < p.to {
		p.clock.now += 1000
	}
	for i, x := range c.In[0].Data[:c.Tokens] {
		c.Out[0].Data[i] = 2 * x
	}
	return graph.Success
}

func (p sleeper[F]) Backward(b *node.Back[F]) graph.Code {
	p.clock.now += 30
	for i, x := range b.DOut[0].Data[:b.Tokens] {
		b.DIn[0].Data[i] = 2 * x
	}
	return graph.Success
}
func (sleeper[F]) Needs() node.Needs            { return 0 }
func (sleeper[F]) ResetAdjoint()                {}
func (sleeper[F]) FinishAdjoint([]node.Grad[F]) {}

// A closure is a sleeper that counts its blocks itself, and fuses.
type closure[F node.Float] struct{ sleeper[F] }

func (p closure[F]) Bind(c *node.Call[F]) func() {
	at := *c
	return func() {
		p.Forward(&at)
		at.Frame0 += 64
	}
}

func (p closure[F]) Fuse(others []node.Instance[F], calls []*node.Call[F]) (func(), bool) {
	all := []func(){p.Bind(calls[0])}
	for i, o := range others {
		all = append(all, o.(closure[F]).Bind(calls[i+1]))
	}
	return func() {
		for _, f := range all {
			f()
		}
	}, true
}

func slowTypes(k *ticker, calls *int, from, to int64) node.Table {
	p := sleeper[float64]{clock: k, calls: calls, from: from, to: to}
	return append(node.Table{{
		Name: "Slow", Ins: []string{"in"}, Outs: []string{"out"}, Adjoint: true,
		New64: func(node.Config) (node.Instance[float64], error) { return p, nil },
	}, {
		Name: "Bound", Ins: []string{"in"}, Outs: []string{"out"},
		New64: func(node.Config) (node.Instance[float64], error) { return closure[float64]{p}, nil },
	}}, ShippedTypes()...)
}

// slowPlan is an input, two parallel nodes of one type, their sum and a probe.
func slowPlan(typ, more string) *planText {
	p := delayed("")
	p.edges = nil
	p.node(`{"name": "sum", "type": "Mix"%s}`, more)
	for i := range 2 {
		p.node(`{"name": "n%d", "type": %q, "params": {"thermo.heat": 0.5}%s}`, i, typ, more)
		p.edge("in", fmt.Sprintf("n%d", i), "")
		p.edge(fmt.Sprintf("n%d", i), fmt.Sprintf("sum.in%d", i), "")
	}
	p.edge("sum", "out", "")
	return p
}

// TestLimit: a call that takes too long is an event and silent; after three the
// node is called no more until it is resumed. In either path, fused or not.
func TestLimit(t *testing.T) {
	t.Parallel()
	for _, typ := range []string{"Slow", "Bound"} {
		for _, o := range []Options{{DisableStatic: true}, {}, {DisableFusion: true}} {
			if typ == "Bound" && o.DisableStatic {
				o.DisableStatic = false
			}
			name := fmt.Sprintf("%s/dynamic=%v/single=%v", typ, o.DisableStatic, o.DisableFusion)
			k, calls := &ticker{}, 0
			o.Catalog, o.Limit, o.clock = slowTypes(k, &calls, 4, 7), 500, k.read
			s := start[float64](t, slowPlan(typ, ""), o)
			in, _ := s.Input("in")
			for i := range in.Data {
				in.Data[i] = 1
			}
			var heard []float64
			for b := range 12 {
				if b == 10 {
					if err := s.Resume("n0"); err != nil {
						t.Fatal(err)
					}
					if err := s.Resume("n1"); err != nil {
						t.Fatal(err)
					}
				}
				block(t, s)
				out, _ := s.Probe("out")
				heard = append(heard, out.Data[63])
				if m := s.Metrics(); m.Nodes[3].Suspended != (b >= 6 && b < 10) {
					t.Errorf("%s: block %d: suspended %v", name, b, m.Nodes[3].Suspended)
				}
			}
			if want := []float64{4, 4, 4, 4, 0, 0, 0, 0, 0, 0, 4, 4}; !slices.Equal(heard, want) {
				t.Errorf("%s: heard %v, want %v", name, heard, want)
			}
			events := slices.Collect(s.Events())
			if len(events) != 8 {
				t.Fatalf("%s: %d events: %+v", name, len(events), events)
			}
			for i, e := range events[6:] {
				if e.Kind != Suspended || e.Block != 6 || e.Node != 3+i || e.Blocks != 750 { // a second
					t.Errorf("%s: event %+v", name, e)
				}
			}
			for i, e := range events[:6] {
				if want := (Event{Block: int64(4 + i/2), Frame: int64(64 * (4 + i/2)), Node: 3 + i%2, Kind: Slow, Code: graph.Timeout}); e != want {
					t.Errorf("%s: event %+v, want %+v", name, e, want)
				}
			}
			m := s.Metrics()
			for _, n := range m.Nodes[3:] {
				if n.Timeouts != 3 || n.Calls[Forward] != 9 || n.Joules[Forward] != 9*64*.5 || n.Nanos[Forward] != 9*10+3*1000 {
					t.Errorf("%s: %+v", name, n)
				}
			}
			if calls != 18 {
				t.Errorf("%s: %d calls, want 18", name, calls)
			}
		}
	}
	if err := start[float64](t, slowPlan("Gain", ""), Options{}).Resume("nobody"); err == nil {
		t.Error("a node that is not there is resumed")
	}
}

// TestTiming: time is measured by node and mode; it changes no bits, and a
// block allocates nothing.
func TestTiming(t *testing.T) {
	k, calls := &ticker{}, 0
	in := map[string]node.Tensor[float64]{"in": noise[float64](640)}
	s := start[float64](t, slowPlan("Slow", `, "supports_v2": true`), Options{Catalog: slowTypes(k, &calls, 0, 99), Timing: true, Training: true, clock: k.read})
	rec, err := s.Record(Recording{})
	if err != nil {
		t.Fatal(err)
	}
	y := run(t, s, in, 10)["out"]
	seed := node.Tensor[float64]{B: 1, C: 1, N: y.N, Data: y.Data}
	if g, err := rec.Backward(map[string]node.Tensor[float64]{"out": seed}, Sweep{}); err != nil || len(g.Unsupported) > 0 {
		t.Fatal(err, g.Unsupported)
	}
	for _, n := range s.Metrics().Nodes[3:] {
		if n.Nanos != [2]int64{10 * 1010, 10 * 30} || n.Timeouts != 0 {
			t.Errorf("%+v", n)
		}
	}
	plain, timed := start[float64](t, bank(6, 1, ""), Options{}), start[float64](t, bank(6, 1, ""), Options{Limit: time.Hour})
	if a, b := run(t, plain, in, 10)["out"], run(t, timed, in, 10)["out"]; !slices.Equal(a.Data, b.Data) {
		t.Error("other bits when time is measured")
	}
	if a, b := plain.Metrics(), timed.Metrics(); a.Joules != b.Joules || a.Nodes[1].Calls != b.Nodes[1].Calls {
		t.Errorf("heat %v, %v; calls %v, %v", a.Joules, b.Joules, a.Nodes[1].Calls, b.Nodes[1].Calls)
	}
	live := start[float64](t, bank(6, 1, ""), Options{Limit: time.Hour})
	for range 4 {
		block(t, live)
	}
	if n := await.Allocs(20, func() { live.Block() }); n > 0 {
		t.Errorf("%g allocations a block", n)
	}
}
