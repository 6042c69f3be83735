package flow_test

import (
	"fmt"

	"atenia/flow"
	"atenia/flow/graph"
	"atenia/flow/node"
)

// A signal and its echo, which is late by three frames and half as loud.
func Example() {
	plan, err := graph.Parse([]byte(`{
		"nodes": [
			{"name": "in", "type": "Input"},
			{"name": "echo", "type": "Gain", "params": {"gain": 0.5}},
			{"name": "sum", "type": "Mix"},
			{"name": "out", "type": "Probe"}
		],
		"edges": [
			{"source": "in", "target": "sum.in0"},
			{"source": "in", "target": "echo", "delay_frames": 3, "delay_kind": "prefill"},
			{"source": "echo", "target": "sum.in1"},
			{"source": "sum", "target": "out"}
		]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := flow.New[float64](plan, flow.Options{BlockFrames: 4, Log: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	in := node.Tensor[float64]{Data: []float64{1, 2, 3, 4, 5, 6, 7, 8}, B: 1, C: 1, N: 8}
	out, err := s.Run(map[string]node.Tensor[float64]{"in": in}, 2)
	fmt.Println(out["out"].Data, err)
	fmt.Print(s.Log())
	// Output:
	// [1 2 3 4.5 6 7.5 9 10.5] <nil>
	// 0: in 4, echo 4, sum 4, out 4
	// 1: in 4, echo 4, sum 4, out 4
	// 2: echo 3
}
