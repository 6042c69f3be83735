package flow_test

import (
	"encoding/json"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
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

// A graphCase is a graph with its inputs, expected outputs and gradients.
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

// A graphResult has the outputs and gradients of a graph, by kind.
type graphResult struct {
	names       []string // in order
	values      map[string][]float64
	shapes      map[string][3]int
	unsupported []string
}

func (r *graphResult) add(name string, shape [3]int, data []float64) {
	r.names, r.values[name], r.shapes[name] = append(r.names, name), data, shape
}

// evaluate runs a case forward and backward, with the inputs and output
// gradients given.
func evaluate[F node.Float](t *testing.T, c *graphCase, inputs, outputGrads map[string]goldenTensor) *graphResult {
	t.Helper()
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
	r := &graphResult{values: map[string][]float64{}, shapes: map[string][3]int{}}
	tensors := func(kind string, ts map[string]node.Tensor[F]) {
		for _, name := range slices.Sorted(maps.Keys(ts)) {
			x := ts[name]
			r.add(kind+" "+name, [3]int{x.B, x.C, x.N}, cast[float64](x.Data[:x.B*x.C*x.N]))
		}
	}
	tensors("output", drive(t, s, streams[F](inputs), c))
	g, err := rec.Backward(streams[F](outputGrads), flow.Sweep{TruncateBlocks: c.Tbptt})
	if err != nil {
		t.Fatal(err)
	}
	tensors("gradient", g.Inputs)
	for _, p := range g.Params {
		r.add("gradient "+p.Node+"."+p.Name, [3]int{p.Value.B, p.Value.C, p.Value.F}, p.Value.Data)
	}
	r.unsupported = slices.Sorted(slices.Values(g.Unsupported))
	return r
}

func runGraph[F node.Float](t *testing.T, c *graphCase) {
	r := evaluate[F](t, c, c.Inputs, c.OutputGrads)
	want := map[string]goldenTensor{}
	for kind, ts := range map[string][]map[string]goldenTensor{"output ": {c.Outputs}, "gradient ": {c.InputGrads, c.ParamGrads}} {
		for _, m := range ts {
			for name, w := range m {
				want[kind+name] = w
			}
		}
	}
	var rounding map[string]float64
	for _, name := range r.names {
		w, ok := want[name]
		if !ok {
			t.Errorf("%s is none of the case's", name)
			continue
		}
		if r.shapes[name] != w.Shape {
			t.Errorf("%s has shape %v, want %v", name, r.shapes[name], w.Shape)
			continue
		}
		spread := c.Spread.Gradients
		if strings.HasPrefix(name, "output") {
			spread = c.Spread.Outputs
		}
		tol := goldenTolerance[F](spread)
		if _, wide := any(F(0)).(float64); !wide && off(r.values[name], w.Data) > tol {
			if rounding == nil {
				rounding = roundings(t, c, want)
			}
			tol = max(tol, min(4*rounding[name], 10*tol))
		}
		near(t, name, r.values[name], w.Data, tol)
	}
	if len(r.names) != len(want) {
		t.Errorf("%d tensors, want %d", len(r.names), len(want))
	}
	if !slices.Equal(r.unsupported, c.Unsupported) && len(r.unsupported)+len(c.Unsupported) > 0 {
		t.Errorf("unsupported %v, want %v", r.unsupported, c.Unsupported)
	}
}

// roundings estimates the error of float32 in a case, relative to the peak: four
// times the inputs are perturbed by up to half a unit in the last place, and both
// engines run. The spread stored with a case is a single sample of that error,
// which may be ten times too small if a gradient is a sum that cancels. The
// estimate widens a tolerance tenfold at most.
func roundings(t *testing.T, c *graphCase, want map[string]goldenTensor) map[string]float64 {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 1))
	moved := func(ts map[string]goldenTensor) map[string]goldenTensor {
		out := map[string]goldenTensor{}
		for _, name := range slices.Sorted(maps.Keys(ts)) {
			x := goldenTensor{Shape: ts[name].Shape, Data: slices.Clone(ts[name].Data)}
			for i := range x.Data {
				x.Data[i] = float64(float32(x.Data[i] * (1 + 0x1p-23*(rng.Float64()-.5))))
			}
			out[name] = x
		}
		return out
	}
	worst := map[string]float64{}
	for range 4 {
		in, grads := moved(c.Inputs), moved(c.OutputGrads)
		narrow, wide := evaluate[float32](t, c, in, grads), evaluate[float64](t, c, in, grads)
		for _, name := range wide.names {
			peak := 1e-300
			for _, x := range want[name].Data {
				peak = max(peak, math.Abs(x))
			}
			for i, x := range wide.values[name] {
				worst[name] = max(worst[name], math.Abs(x-narrow.values[name][i])/peak)
			}
		}
	}
	return worst
}

// drive runs the case's blocks one by one, drains the session, and checks when
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
