package flow_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"atenia/flow"
	"atenia/flow/graph"
	"atenia/flow/node"
	"atenia/internal/golden/await"
)

// TestMeter checks sums, their precision, ignored reports, and that a delay above
// the declared one is noticed.
func TestMeter(t *testing.T) {
	t.Run("A16", func(t *testing.T) {
		t.Parallel()
		m := flow.NewMeter([]string{"n"})
		for range 10_000_000 {
			m.Add(0, flow.Forward, float64(float32(0.1)))
		}
		if got := m.Joules(flow.Forward); math.Abs(got-1_000_000.01) > 0.1 {
			t.Errorf("%.2f J, want 1000000.01", got)
		}
	})
	t.Run("ignored", func(t *testing.T) {
		t.Parallel()
		m := flow.NewMeter([]string{"a", "b"})
		for _, h := range []float64{1, math.NaN(), math.Inf(1), math.Inf(-1), -0.25} {
			m.Add(1, flow.Backward, h)
		}
		r := m.Report()
		if r.Joules != [2]float64{0, 0.75} || r.Nodes[1].Joules != [2]float64{0, 0.75} || r.Ignored != 3 || r.Nodes[1].Calls[flow.Backward] != 5 {
			t.Errorf("%+v", r)
		}
		m.Reset()
		if r := m.Report(); r.Joules != [2]float64{} || r.Ignored != 0 {
			t.Errorf("after Reset: %+v", r)
		}
	})
	t.Run("delay", func(t *testing.T) {
		t.Parallel()
		m := flow.NewMeter([]string{"a"})
		first := []bool{m.Delay(0, 10, 10), m.Delay(0, 37, 10), m.Delay(0, 38, 10)}
		if first[0] || !first[1] || first[2] {
			t.Errorf("under-declared at %v, want only the second", first)
		}
		if s := m.Report().String(); !strings.Contains(s, "38 under-declared") {
			t.Errorf("no note of the delay:\n%s", s)
		}
	})
	t.Run("allocations", func(t *testing.T) {
		m := flow.NewMeter([]string{"a"})
		if n := await.Allocs(100, func() { m.Add(0, flow.Forward, 1); m.Delay(0, 1, 2); m.Time(0, flow.Forward, 3) }); n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
}

// A heater passes its input on and reports a quarter of a joule a call, by
// setting the field or by adding to it.
type heater struct{ add bool }

func (h heater) Reset() {}

func (h heater) Forward(c *node.Call[float64]) graph.Code {
	copy(c.Out[0].Data, c.In[0].Data)
	if h.add {
		c.Heat += 0.25
	} else {
		c.Heat = 0.25
	}
	return graph.Success
}

func (h heater) Needs() node.Needs                    { return 0 }
func (h heater) ResetAdjoint()                        {}
func (h heater) FinishAdjoint(p []node.Grad[float64]) {}

func (h heater) Backward(b *node.Back[float64]) graph.Code {
	copy(b.DIn[0].Data, b.DOut[0].Data)
	b.Heat = 0.5
	return graph.Success
}

func heaters() node.Table {
	heated := func(name string, add bool) node.Type {
		return node.Type{Name: name, Ins: []string{"in"}, Outs: []string{"out"}, Adjoint: true,
			New64: func(node.Config) (node.Instance[float64], error) { return heater{add}, nil }}
	}
	return append(flow.ShippedTypes(), heated("Sets", false), heated("Adds", true))
}

// TestHeat is acceptance A14 and A15: sums by node, by mode and of all, whether
// a node sets its report or adds to it.
func TestHeat(t *testing.T) {
	t.Parallel()
	const plan = "x Input; a Sets; b Adds; o Probe; x -> a; a -> b; b -> o"
	totals := func(record bool) flow.Metrics {
		s := session[float64](t, sketch(t, plan), flow.Options{BlockFrames: 1, Catalog: heaters(), Training: true}, nil)
		var rec *flow.Record[float64]
		if record {
			var err error
			if rec, err = s.Record(flow.Recording{}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Run(map[string]node.Tensor[float64]{"x": constant(1.0, 1000)}, 1000); err != nil {
			t.Fatal(err)
		}
		if record {
			if _, err := rec.Backward(map[string]node.Tensor[float64]{"o": constant(1.0, 1000)}, flow.Sweep{}); err != nil {
				t.Fatal(err)
			}
		}
		return s.Metrics()
	}
	for _, record := range []bool{false, true} {
		m := totals(record)
		backward := 0.0
		if record {
			backward = 500
		}
		t.Run("A14", func(t *testing.T) {
			a := m.Nodes[1]
			if math.Abs(a.Joules[flow.Forward]-250) > 1e-6 || math.Abs(m.Joules[flow.Forward]-500) > 1e-6 || a.Joules[flow.Backward] != backward || a.Calls[flow.Forward] != 1000 {
				t.Errorf("node %+v, all %v", a, m.Joules)
			}
		})
		t.Run("A15", func(t *testing.T) {
			if a, b := m.Nodes[1], m.Nodes[2]; a.Joules != b.Joules {
				t.Errorf("set %v J, added %v J", a.Joules, b.Joules)
			}
		})
	}
}

// TestThermalGate checks that a node waits after a block that was too hot, with
// and without a record, and that blocks run again wait where they waited.
func TestThermalGate(t *testing.T) {
	t.Parallel()
	// 48 frames at 48 kHz are a millisecond: 0.5 J of a block are 500 W, 1 J more
	// when the gated node fires.
	plan := strings.Replace(string(sketch(t, `x Input; h Gain thermo.heat=0.010416666666666666; g Gain thermo.heat=0.020833333333333332; o Probe; p Probe;
		x -> h; h -> p; x -> g synchrony_gates=[4]; g -> o`)), `"edges"`, `"gates":[{"id":4,"kind":"thermal"}],"heat_budget_joules_per_second":1000,"edges"`, 1)
	var want []int64
	for _, every := range []int{0, 1, 3} {
		s := session[float64](t, []byte(plan), flow.Options{BlockFrames: 48, Training: true}, nil)
		var rec *flow.Record[float64]
		if every > 0 {
			var err error
			if rec, err = s.Record(flow.Recording{Every: every}); err != nil {
				t.Fatal(err)
			}
		}
		var fired []int64
		for range 10 {
			if err := s.Block(); err != nil {
				t.Fatal(err)
			}
			n, _ := s.Fired(2)
			fired = append(fired, n)
		}
		if want == nil {
			want = fired
		}
		if !slices.Equal(fired, want) || fired[0] != 48 || fired[1] != 48 || fired[2] != 96 {
			t.Errorf("record %d: tokens fired after each block: %v, want %v", every, fired, want)
		}
		if rec == nil {
			continue
		}
		g, err := rec.Backward(map[string]node.Tensor[float64]{"o": constant(1.0, int(fired[9]))}, flow.Sweep{})
		if err != nil {
			t.Fatal(err)
		}
		if d := g.Inputs["x"].Data; !slices.Equal(d[:fired[9]], constant(1.0, int(fired[9])).Data) || d[fired[9]] != 0 {
			t.Errorf("record %d: gradient %v", every, d)
		}
	}
}
