package flow_test

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"testing"

	"atenia/flow"
	"atenia/flow/node"
)

func init() {
	topics["telemetry"] = func(t *testing.T, c json.RawMessage) {
		switch kind := decode[struct{ Kind string }](t, c).Kind; kind {
		case "reports":
			heatReports(t, decode[reportsCase](t, c))
		case "graph":
			heatOfGraph(t, decode[heatCase](t, c))
		default:
			t.Fatalf("kind %q", kind)
		}
	}
}

// goldenHeat are the totals that a telemetry case expects.
type goldenHeat struct {
	Forward, Backward map[string]float64
	ForwardTotal      float64 `json:"forward_total"`
	BackwardTotal     float64 `json:"backward_total"`
	Ignored           int64
}

// check compares the totals; nodes that are not in the case must have no reports.
func (h goldenHeat) check(t *testing.T, m flow.Metrics) {
	t.Helper()
	for _, n := range m.Nodes {
		heatNear(t, n.Name+" forward", n.Joules[flow.Forward], h.Forward[n.Name])
		heatNear(t, n.Name+" backward", n.Joules[flow.Backward], h.Backward[n.Name])
	}
	heatNear(t, "forward", m.Joules[flow.Forward], h.ForwardTotal)
	heatNear(t, "backward", m.Joules[flow.Backward], h.BackwardTotal)
	if m.Ignored != h.Ignored {
		t.Errorf("%d reports ignored, want %d", m.Ignored, h.Ignored)
	}
}

func heatNear(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-6*max(math.Abs(want), 1e-3)) {
		t.Errorf("%s: %g J, want %g", what, got, want)
	}
}

// A reportsCase is a list of calls: node, mode, joules as a number or a text.
type reportsCase struct {
	Calls [][3]any
	Heat  goldenHeat
}

func heatReports(t *testing.T, c reportsCase) {
	nodes := map[string]bool{}
	for _, call := range c.Calls {
		nodes[call[0].(string)] = true
	}
	names := slices.Sorted(maps.Keys(nodes))
	m := flow.NewMeter(names)
	for _, call := range c.Calls {
		mode := flow.Forward
		if call[1] == flow.Backward.String() {
			mode = flow.Backward
		}
		joules, ok := call[2].(float64)
		if !ok {
			var err error
			if joules, err = strconv.ParseFloat(call[2].(string), 64); err != nil {
				t.Fatal(err)
			}
		}
		m.Add(slices.Index(names, call[0].(string)), mode, joules)
	}
	c.Heat.check(t, m.Report())
}

// A heatCase is a graph that is run on zeros, forward and backward.
type heatCase struct {
	Plan        json.RawMessage
	BlockFrames int                               `json:"block_frames"`
	Blocks      int                               `json:"blocks"`
	GateOpens   map[string][]int64                `json:"gate_opens"`
	Inputs      map[string]struct{ Shape [3]int } `json:"inputs"`
	Heat        goldenHeat
}

func heatOfGraph(t *testing.T, c heatCase) {
	for _, r := range []flow.Recording{{}, {Every: 2}} {
		s := session[float64](t, c.Plan, flow.Options{BlockFrames: c.BlockFrames, Training: true}, c.GateOpens)
		rec, err := s.Record(r)
		if err != nil {
			t.Fatal(err)
		}
		in := map[string]node.Tensor[float64]{}
		for name, x := range c.Inputs {
			in[name] = node.Tensor[float64]{Data: make([]float64, x.Shape[0]*x.Shape[1]*x.Shape[2]), B: x.Shape[0], C: x.Shape[1], N: x.Shape[2]}
		}
		if _, err := s.Run(in, c.Blocks); err != nil {
			t.Fatal(err)
		}
		if _, err := rec.Backward(nil, flow.Sweep{}); err != nil {
			t.Fatal(err)
		}
		c.Heat.check(t, s.Metrics())
	}
}
