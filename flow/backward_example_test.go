package flow_test

import (
	"fmt"

	"atenia/flow"
	"atenia/flow/graph"
	"atenia/flow/node"
)

// A graph with feedback, and the gradient of the sum of its output.
func ExampleRecord() {
	plan, err := graph.Parse([]byte(`{"nodes":[
		{"name":"x","type":"Input"}, {"name":"m","type":"Mix","supports_v2":true}, {"name":"y","type":"Probe"},
		{"name":"g","type":"Gain","supports_v2":true,"params":{"gain":0.5}}],
		"edges":[{"source":"x","target":"m.in0"}, {"source":"m","target":"g"}, {"source":"m","target":"y"},
		{"source":"g","target":"m.in1","delay_frames":3}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := flow.New[float64](plan, flow.Options{BlockFrames: 10, Training: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	rec, err := s.Record(flow.Recording{})
	if err != nil {
		fmt.Println(err)
		return
	}
	ones := node.Tensor[float64]{Data: []float64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, B: 1, C: 1, N: 10}
	if _, err := s.Run(map[string]node.Tensor[float64]{"x": ones}, 1); err != nil {
		fmt.Println(err)
		return
	}
	g, err := rec.Backward(map[string]node.Tensor[float64]{"y": ones}, flow.Sweep{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(g.Inputs["x"].Data)
	fmt.Println(g.Param("g", "gain").Data)
	// Output:
	// [1.875 1.75 1.75 1.75 1.5 1.5 1.5 1 1 1]
	// [11.75]
}
