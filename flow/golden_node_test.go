package flow_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"atenia/flow"
	"atenia/flow/graph"
	"atenia/flow/internal/flowtest"
	"atenia/flow/node"
)

func init() { topics["node"] = runNode }

// A nodeCase is one node on whole streams.
type nodeCase struct {
	SampleRate  float64 `json:"sample_rate"`
	Node        json.RawMessage
	Cuts        []int
	Inputs      []goldenTensor
	Outputs     []goldenTensor
	OutputGrads []goldenTensor `json:"output_grads"`
	Supported   bool
	InputGrads  []goldenTensor                       `json:"input_grads"`
	ParamGrads  map[string]goldenTensor              `json:"param_grads"`
	Spread      struct{ Outputs, Gradients float64 } `json:"float32_spread"`
}

// runNode checks one node, forward and backward, in both types.
func runNode(t *testing.T, c json.RawMessage) {
	w := decode[nodeCase](t, c)
	plan, err := graph.Parse(fmt.Appendf(nil, `{"nodes": [%s], "edges": []}`, w.Node))
	if err != nil {
		t.Fatal(err)
	}
	nodeGolden[float64](t, &w, plan.Nodes[0])
	nodeGolden[float32](t, &w, plan.Nodes[0])
}

func nodeGolden[F node.Float](t *testing.T, w *nodeCase, n graph.Node) {
	tensors := func(list []goldenTensor) (ts []node.Tensor[F]) {
		for _, x := range list {
			ts = append(ts, node.Tensor[F]{Data: cast[F](x.Data), B: x.Shape[0], C: x.Shape[1], N: x.Shape[2]})
		}
		return ts
	}
	var shapes []graph.Shape
	for _, x := range w.Inputs {
		shapes = append(shapes, graph.Shape{B: x.Shape[0], C: x.Shape[1]})
	}
	g := flowtest.NewRig[F](t, flow.ShippedTypes(), &n, w.SampleRate, shapes, slices.Max(w.Cuts))
	compare := func(what string, got []node.Tensor[F], want []goldenTensor, spread float64) {
		t.Helper()
		if len(got) != len(want) {
			t.Fatalf("%s: %d tensors, want %d", what, len(got), len(want))
		}
		for i, x := range want {
			if shape := [3]int{got[i].B, got[i].C, got[i].N}; shape != x.Shape {
				t.Errorf("%s %d: shape %v, want %v", what, i, shape, x.Shape)
			}
			near(t, fmt.Sprintf("%T %s %d", F(0), what, i), got[i].Data, x.Data, goldenTolerance[F](spread))
		}
	}
	compare("output", g.Forward(t, tensors(w.Inputs), w.Cuts), w.Outputs, w.Spread.Outputs)
	if got := g.Node.Spec.Adjoint && n.SupportsV2; got != w.Supported {
		t.Fatalf("adjoint %v, want %v", got, w.Supported)
	}
	if !w.Supported {
		return
	}
	dIn, dParam := g.Backward(t, tensors(w.OutputGrads))
	compare("input gradient", dIn, w.InputGrads, w.Spread.Gradients)
	specs := g.Node.Spec.Params
	if len(w.ParamGrads) != len(specs)-1 {
		t.Errorf("%d parameters, want %d", len(specs)-1, len(w.ParamGrads))
	}
	for k, s := range specs[:len(specs)-1] {
		near(t, fmt.Sprintf("%T gradient of %s", F(0), s.Name), cast[F](dParam[k]), w.ParamGrads[s.Name].Data, goldenTolerance[F](w.Spread.Gradients))
	}
}
