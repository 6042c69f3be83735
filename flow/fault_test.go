package flow

import (
	"errors"
	"math"
	"slices"
	"testing"

	"atenia/flow/graph"
	"atenia/flow/node"
)

// faulty is a type that copies its input except for one bad number, and reports
// its heat itself.
type faulty[F node.Float] struct {
	code graph.Code
	bad  float64
	at   int64
	held F // added to every frame after the bad one
}

func (f *faulty[F]) Reset() { f.held = 0 }
func (f *faulty[F]) Forward(c *node.Call[F]) graph.Code {
	c.Heat = 7
	for i, x := range c.In[0].Data[:c.Tokens] {
		if c.Frame0+int64(i) == f.at {
			if f.code != graph.Success {
				return f.code
			}
			f.held = F(f.bad)
		}
		c.Out[0].Data[i] = x + f.held
	}
	return graph.Success
}

// catalog has the shipped types and Faulty.
func catalog(code graph.Code, bad float64, at int64) node.Table {
	return append(node.Table{{
		Name: "Faulty", Ins: []string{"in"}, Outs: []string{"out"},
		New32: func(node.Config) (node.Instance[float32], error) { return &faulty[float32]{code, bad, at, 0}, nil },
		New64: func(node.Config) (node.Instance[float64], error) { return &faulty[float64]{code, bad, at, 0}, nil },
	}}, ShippedTypes()...)
}

// broken is an input, a Faulty, a filter and a probe.
func broken(more string) *planText {
	p := delayed("")
	p.edges = nil
	p.node(`{"name": "bad", "type": "Faulty"%s}`, more)
	p.node(`{"name": "low", "type": "Biquad", "params": {"f0": 5000}}`)
	p.edge("in", "bad", "")
	p.edge("bad", "low", "")
	p.edge("low", "out", "")
	return p
}

func TestFaults(t *testing.T) {
	t.Parallel()
	t.Run("A58", func(t *testing.T) {
		for _, scan := range []Scan{ScanSinks, ScanAll} {
			for _, static := range []bool{false, true} {
				s := start[float64](t, broken(""), Options{Catalog: catalog(0, math.NaN(), 5*64+3), Scan: scan, DisableStatic: !static})
				in, _ := s.Input("in")
				for i := range in.Data {
					in.Data[i] = 1
				}
				for k := range 9 {
					block(t, s)
					out, _ := s.Probe("out")
					silent := slices.Max(out.Data) == 0 && slices.Min(out.Data) == 0
					if silent != (k == 5) && scan == ScanSinks || out.Data[63] != out.Data[63] {
						t.Errorf("%v, block %d: %v", scan, k, out.Data)
					}
					if k == 8 && math.Abs(out.Data[63]-1) > .1 {
						t.Errorf("%v: the filter did not recover: %g", scan, out.Data[63])
					}
				}
				events := slices.Collect(s.Events())
				if len(events) != 1 || s.procs[events[0].Node].Name != "bad" || events[0].Port != 0 || events[0].Frame != 5*64+3 || events[0].Block != 5 || events[0].Kind != NotFinite {
					t.Errorf("%v: events %+v", scan, events)
				}
			}
		}
	})
	t.Run("policy", func(t *testing.T) {
		for _, policy := range []Policy{Stop, Mute, Bypass} {
			for _, static := range []bool{false, true} {
				s := start[float64](t, broken(""), Options{Catalog: catalog(graph.Fail, 0, 5*64+3), Policy: policy, DisableStatic: !static})
				in, _ := s.Input("in")
				for i := range in.Data {
					in.Data[i] = 1
				}
				for range 5 {
					block(t, s)
				}
				err := s.Block()
				bad, _ := s.find("bad", graph.Inner)
				y := bad.out[0].block.Data[10]
				e, ok := errors.AsType[*RunError](err)
				if ok != (policy == Stop) || ok && (e.Node != "bad" || e.Code != graph.Fail || e.Block != 5) {
					t.Errorf("%v: %v", policy, err)
				}
				if want := map[Policy]float64{Bypass: 1}[policy]; y != want {
					t.Errorf("%v: output %g, want %g", policy, y, want)
				}
				if n := len(slices.Collect(s.Events())); n != 1 {
					t.Errorf("%v: %d events", policy, n)
				}
				if again := s.Block(); (again == nil) != (policy != Stop) {
					t.Errorf("%v: then %v", policy, again)
				}
			}
		}
	})
}

// TestScanFrame: events of calls that are bound once name the frame of the
// stream, on both paths.
func TestScanFrame(t *testing.T) {
	for _, dynamic := range []bool{false, true} {
		p, err := graph.Parse([]byte(`{"nodes":[{"name":"in","type":"Input"},{"name":"g","type":"Gain"},{"name":"out","type":"Probe"}],
			"edges":[{"source":"in","target":"g"},{"source":"g","target":"out"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		s, err := New[float32](p, Options{Scan: ScanAll, DisableStatic: dynamic})
		if err != nil {
			t.Fatal(err)
		}
		in, err := s.Input("in")
		if err != nil {
			t.Fatal(err)
		}
		for k := range 8 {
			clear(in.Data[:64])
			if k == 5 {
				in.Data[7] = float32(math.NaN())
			}
			if err := s.Block(); err != nil {
				t.Fatal(err)
			}
		}
		seen := 0
		for e := range s.Events() {
			if seen++; e.Kind != NotFinite || e.Block != 5 || e.Frame != 5*64+7 {
				t.Errorf("dynamic %v: %+v", dynamic, e)
			}
		}
		if seen == 0 {
			t.Errorf("dynamic %v: no event", dynamic)
		}
	}
}
