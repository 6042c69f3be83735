package graph_test

import (
	"fmt"
	"math"
	"slices"

	"atenia/flow/graph"
)

// A catalog knows types enough to link with: ports, rates and shapes.
type catalog struct{}

// same is the shape function of nodes that do not change the shape.
func same(n int) func([]graph.Shape) ([]graph.Shape, error) {
	return func(in []graph.Shape) ([]graph.Shape, error) { return slices.Repeat(in[:1], n), nil }
}

// params are the framed parameters of the types, by type.
var params = map[string][]string{
	"Constant": {"value"}, "Gain": {"gain"}, "Biquad": {"f0", "q", "gain_db"}, "Oscillator": {"frequency_hz", "amplitude", "phase"},
	"OversampledOsc": {"frequency_hz", "amplitude", "phase"}, "Delay": {"delay"}, "OnePole": {"f0"}, "SVF": {"f0", "q"}, "WaveShaper": {"drive"},
	"DCBlock": {"r"}, "Envelope": {"attack", "release"}, "Pan": {"pan"},
}

var tables = map[string][]string{"FIR": {"taps"}, "Matrix": {"matrix", "bias"}}

func (catalog) Describe(n *graph.Node) (*graph.Spec, error) {
	s := &graph.Spec{Ins: []string{"in"}, Outs: []string{"out"}, Shapes: same(1), SourceNum: 1, SourceDen: 1}
	count := func(name string, absent int) (int, error) {
		p := n.Param(name)
		if p == nil {
			return absent, nil
		}
		if p.Value == nil || p.Value.Data[0] < 1 || p.Value.Data[0] > 1<<16 || p.Value.Data[0] != math.Trunc(p.Value.Data[0]) {
			return 0, &graph.Error{Code: graph.Malformed, Path: n.Path + ".params." + name, Text: "integer >= 1 wanted"}
		}
		return int(p.Value.Data[0]), nil
	}
	need := map[string]int{"batches": 1, "channels": 1, "rate_num": 1, "rate_den": 1, "inputs": 2, "outputs": 2, "factor": 2, "up": 1, "down": 1, "tier": 96}
	for _, k := range []string{"batches", "channels", "rate_num", "rate_den", "inputs", "outputs", "factor", "up", "down", "tier"} {
		v, err := count(k, need[k])
		if err != nil {
			return nil, err
		}
		need[k] = v
	}
	made := graph.Shape{B: need["batches"], C: need["channels"]}
	source := func([]graph.Shape) ([]graph.Shape, error) { return []graph.Shape{made}, nil }
	up, down := 1, 1
	switch n.Type {
	case "Input", "Constant", "Oscillator", "OversampledOsc":
		s.Ins, s.Shapes = nil, source
		if n.Type == "Input" {
			s.SourceNum, s.SourceDen = need["rate_num"], need["rate_den"]
		}
		if n.Type == "OversampledOsc" {
			up = n.OversampleRatio
		}
	case "Probe":
		s.Outs, s.Shapes = nil, same(0)
	case "Mix", "Merge":
		s.Ins = nil
		for i := range need["inputs"] {
			s.Ins = append(s.Ins, fmt.Sprintf("in%d", i))
		}
		s.Rows = func(_, out []graph.Shape) graph.Shape { return out[0] }
		s.Shapes = func(in []graph.Shape) ([]graph.Shape, error) {
			out := in[0]
			for _, x := range in[1:] {
				if out.C = max(out.C, x.C); n.Type == "Merge" {
					out.C += x.C
				}
			}
			for _, x := range in {
				if x.B != out.B || n.Type == "Mix" && x.C != 1 && x.C != out.C {
					return nil, &graph.Error{Code: graph.BadShape}
				}
			}
			return []graph.Shape{out}, nil
		}
	case "Upsample":
		up = need["factor"]
	case "Downsample":
		down = need["factor"]
	case "Resample":
		up, down = need["up"], need["down"]
		if !slices.Contains([]int{60, 96, 140}, need["tier"]) {
			return nil, &graph.Error{Code: graph.Malformed, Path: n.Path + ".params.tier", Text: "60, 96 or 140 wanted"}
		}
	case "Biquad":
		if p := n.Param("kind"); p != nil && (p.Text == nil || *p.Text == "brickwall") {
			return nil, &graph.Error{Code: graph.Malformed, Path: n.Path + ".params.kind", Text: "a kind of filter is wanted"}
		}
	default:
		if params[n.Type] == nil && tables[n.Type] == nil {
			return nil, &graph.Error{Code: graph.UnknownNode, Text: "unknown type " + n.Type}
		}
	}
	s.Cons, s.Prod = slices.Repeat([]int{down}, len(s.Ins)), slices.Repeat([]int{up}, len(s.Outs))
	for i, list := range [][]string{params[n.Type], tables[n.Type], {"thermo.heat"}} {
		for _, k := range list {
			p := graph.ParamSpec{Name: k, Table: i == 1, Value: graph.Tensor{B: 1, C: 1, F: 1, Data: []float64{0}}}
			if x := n.Param(k); x != nil {
				if x.Value == nil {
					return nil, &graph.Error{Code: graph.Malformed, Path: n.Path + ".params." + k, Text: "number or tensor wanted"}
				}
				p.Value = *x.Value
			}
			s.Params = append(s.Params, p)
		}
	}
	return s, nil
}
