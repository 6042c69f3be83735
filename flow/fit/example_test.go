package fit_test

import (
	"context"
	"fmt"
	"log"

	"atenia/flow/fit"
	"atenia/flow/graph"
	"atenia/flow/node"
)

// A gain learns that its output should be half its input.
func Example() {
	plan, err := graph.Parse([]byte(`{"nodes": [{"name": "in", "type": "Input"}, {"name": "volume", "type": "Gain", "supports_v2": true}, {"name": "out", "type": "Probe"}],
		"edges": [{"source": "in", "target": "volume"}, {"source": "volume", "target": "out"}]}`))
	if err != nil {
		log.Fatal(err)
	}
	loud := node.Tensor[float64]{Data: []float64{1, -2, 3, -4}, B: 1, C: 1, N: 4}
	soft := node.Tensor[float64]{Data: []float64{0.5, -1, 1.5, -2}, B: 1, C: 1, N: 4}
	p, err := fit.New(plan, fit.Config[float64]{
		Inputs: fit.Streams[float64]{"in": loud},
		Params: []fit.Param{{Node: "volume", Name: "gain"}},
		Loss:   fit.SquaredError(fit.Streams[float64]{"out": soft}),
	})
	if err != nil {
		log.Fatal(err)
	}
	r, err := fit.Fit(context.Background(), p, fit.Settings{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.3f\n", r.Plan.Nodes[1].Param("gain").Value.Data[0])
	// Output: 0.500
}
