package flow

import (
	"slices"
	"testing"

	"atenia/flow/graph"
	"atenia/flow/node"
)

// TestFill: values repeat over the stream, and modulations apply in order.
func TestFill(t *testing.T) {
	t.Parallel()
	p := newParamValue[float64](&graph.ParamSpec{Value: graph.Tensor{B: 1, C: 1, F: 3, Data: []float64{1, 2, 3}}})
	x := node.Tensor[float64]{Data: []float64{1, 1, 1, 1, 1, 10, 20, 30, 40, 50}, B: 1, C: 2, N: 5}
	p.Mods = []modulation[float64]{{Scale: 2, Channel: -1, From: x}, {Mul: true, Scale: 10, Channel: 0, From: x}}
	dst := node.Param[float64]{Tensor: node.Tensor[float64]{Data: make([]float64, 15), B: 1, C: 3}}
	p.Fill(&dst, 2, 5)
	want := []float64{50, 30, 40, 50, 30, 230, 410, 620, 830, 1010, 230, 410, 620, 830, 1010}
	if !slices.Equal(dst.Data, want) {
		t.Errorf("%v, want %v", dst.Data, want)
	}
}

// TestStage: each block takes one portion of the staged values, and the last one
// stays.
func TestStage(t *testing.T) {
	t.Parallel()
	spec := &graph.ParamSpec{Value: graph.Tensor{B: 2, C: 1, F: 2, Data: []float64{1, 2, 3, 4}}}
	p := newParamValue[float64](spec)
	p.Stage([]float64{10, 11, 12, 13, 20, 21, 22, 23}, 5)
	for block, want := range map[int64][]float64{5: {10, 11, 20, 21}} {
		if p.Turn(block); !slices.Equal(p.Base.Data, want) {
			t.Errorf("block %d: %v, want %v", block, p.Base.Data, want)
		}
	}
	if p.Turn(6) || !slices.Equal(p.Base.Data, []float64{12, 13, 22, 23}) {
		t.Errorf("then %v", p.Base.Data)
	}
	if p.Reset(spec); p.Turn(7) || p.Base.Data[0] != 1 {
		t.Errorf("reset: %v", p.Base.Data)
	}
}
