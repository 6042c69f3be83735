package flow_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"

	"atenia/flow"
	"atenia/flow/graph"
	"atenia/flow/node"
)

func init() {
	topics["graph"] = func(t *testing.T, raw json.RawMessage) {
		c := decode[graphCase](t, raw)
		t.Run("float64", func(t *testing.T) { runGraph[float64](t, &c) })
		t.Run("float32", func(t *testing.T) { runGraph[float32](t, &c) })
	}
}

// A graphCase is a graph with what goes in, what comes out and the gradients.
type graphCase struct {
	Plan        json.RawMessage
	SampleRate  float64            `json:"sample_rate"`
	BlockFrames int                `json:"block_frames"`
	Blocks      int                `json:"blocks"`
	GateOpens   map[string][]int64 `json:"gate_opens"`
	Inputs      map[string]goldenTensor
	Edges       []struct {
		Hold, Prefill int
		Rate          [2]int64
	}
	FirstFire   map[string]*int64 `json:"first_fire"`
	Fired       map[string][]int64
	Outputs     map[string]goldenTensor
	OutputGrads map[string]goldenTensor `json:"output_grads"`
	InputGrads  map[string]goldenTensor `json:"input_grads"`
	ParamGrads  map[string]goldenTensor `json:"param_grads"`
	Unsupported []string
	Tbptt       int                                  `json:"tbptt_blocks"`
	Spread      struct{ Outputs, Gradients float64 } `json:"float32_spread"`
}

// streams are the tensors of a case as the engine takes them.
func streams[F node.Float](ts map[string]goldenTensor) map[string]node.Tensor[F] {
	out := map[string]node.Tensor[F]{}
	for name, x := range ts {
		out[name] = node.Tensor[F]{Data: cast[F](x.Data), B: x.Shape[0], C: x.Shape[1], N: x.Shape[2]}
	}
	return out
}

// session makes the case's session.
func session[F node.Float](t testing.TB, plan []byte, o flow.Options, opens map[string][]int64) *flow.Session[F] {
	t.Helper()
	p, err := graph.Parse(plan)
	if err != nil {
		t.Fatal(err)
	}
	s, err := flow.New[F](p, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range slices.Sorted(maps.Keys(opens)) {
		n, err := strconv.Atoi(id)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.OpenGate(n, opens[id]...); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func runGraph[F node.Float](t *testing.T, c *graphCase) {
	s := session[F](t, c.Plan, flow.Options{BlockFrames: c.BlockFrames, SampleRate: c.SampleRate, Training: true}, c.GateOpens)
	for i, e := range s.Linked().Edges {
		w := c.Edges[i]
		if e.Hold != w.Hold || e.Prefill != w.Prefill || e.Rate != (graph.Rat{Num: w.Rate[0], Den: w.Rate[1]}) {
			t.Errorf("edge %d: hold %d, prefill %d, rate %v, want %+v", i, e.Hold, e.Prefill, e.Rate, w)
		}
	}
	rec, err := s.Record(flow.Recording{})
	if err != nil {
		t.Fatal(err)
	}
	out := drive(t, s, streams[F](c.Inputs), c)
	tol := goldenTolerance[F](c.Spread.Outputs)
	for name, w := range c.Outputs {
		nearTensor(t, "output "+name, out[name], w, tol)
	}
	g, err := rec.Backward(streams[F](c.OutputGrads), flow.Sweep{TruncateBlocks: c.Tbptt})
	if err != nil {
		t.Fatal(err)
	}
	tol = goldenTolerance[F](c.Spread.Gradients)
	for name, w := range c.InputGrads {
		nearTensor(t, "gradient of "+name, g.Inputs[name], w, tol)
	}
	for _, p := range g.Params {
		w, ok := c.ParamGrads[p.Node+"."+p.Name]
		if !ok {
			t.Errorf("gradient of %s.%s is none of the case's", p.Node, p.Name)
			continue
		}
		if got := [3]int{p.Value.B, p.Value.C, p.Value.F}; got != w.Shape {
			t.Errorf("gradient of %s.%s has shape %v, want %v", p.Node, p.Name, got, w.Shape)
		}
		near(t, fmt.Sprintf("gradient of %s.%s", p.Node, p.Name), p.Value.Data, w.Data, tol)
	}
	if len(g.Params) != len(c.ParamGrads) {
		t.Errorf("%d gradients of parameters, want %d", len(g.Params), len(c.ParamGrads))
	}
	got := slices.Sorted(slices.Values(g.Unsupported))
	if !slices.Equal(got, c.Unsupported) && len(got)+len(c.Unsupported) > 0 {
		t.Errorf("unsupported %v, want %v", got, c.Unsupported)
	}
}

// drive runs the case's blocks one by one and then what is left, and checks when
// nodes fire.
func drive[F node.Float](t *testing.T, s *flow.Session[F], inputs map[string]node.Tensor[F], c *graphCase) map[string]node.Tensor[F] {
	t.Helper()
	rows := map[string][][]F{}
	nodes := s.Linked().Nodes
	fired := make([][]int64, len(nodes))
	take := func() {
		for name := range c.Outputs {
			y, err := s.Probe(name)
			if err != nil {
				t.Fatal(err)
			}
			for len(rows[name]) < y.B*y.C {
				rows[name] = append(rows[name], nil)
			}
			for r := range rows[name] {
				rows[name][r] = append(rows[name][r], y.Row(r)...)
			}
		}
	}
	for k := range c.Blocks {
		for name, x := range inputs {
			buf, err := s.Input(name)
			if err != nil {
				t.Fatal(err)
			}
			for r := range x.B * x.C {
				copy(buf.Row(r), x.Row(r)[k*buf.N:])
			}
		}
		before := make([]int64, len(nodes))
		for v := range nodes {
			before[v], _ = s.Fired(v)
		}
		if err := s.Block(); err != nil {
			t.Fatal(err)
		}
		for v := range nodes {
			now, _ := s.Fired(v)
			fired[v] = append(fired[v], now-before[v])
		}
		take()
	}
	for v, n := range nodes {
		_, first := s.Fired(v)
		if w := c.FirstFire[n.Name]; w == nil && first >= 0 || w != nil && *w != first {
			t.Errorf("node %s fires first in block %d, want %v", n.Name, first, w)
		}
		if !slices.Equal(fired[v], c.Fired[n.Name]) {
			t.Errorf("node %s fired %v, want %v", n.Name, fired[v], c.Fired[n.Name])
		}
	}
	for moved := true; moved; {
		var err error
		if moved, err = s.Drain(); err != nil {
			t.Fatal(err)
		}
		if moved {
			take()
		}
	}
	out := map[string]node.Tensor[F]{}
	for name, r := range rows {
		w := c.Outputs[name].Shape
		out[name] = node.Tensor[F]{Data: slices.Concat(r...), B: w[0], C: w[1], N: len(r[0])}
	}
	return out
}

func nearTensor[F node.Float](t *testing.T, what string, got node.Tensor[F], want goldenTensor, tol float64) {
	t.Helper()
	if s := [3]int{got.B, got.C, got.N}; s != want.Shape {
		t.Errorf("%s has shape %v, want %v", what, s, want.Shape)
		return
	}
	near(t, what, got.Data[:got.B*got.C*got.N], want.Data, tol)
}
