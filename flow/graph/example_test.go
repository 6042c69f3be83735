package graph_test

import (
	"fmt"

	"atenia/flow/graph"
)

// Example reads a plan with a fault, mends it, and links it.
func Example() {
	const text = `{"nodes": [{"name": "x", "type": "Input"}, {"name": "g", "type": "Gain", "oversample_ratio": %d}],
		"edges": [{"source": "x.out", "target": "g.in", "delay_frames": 100}]}`
	_, err := graph.Parse(fmt.Appendf(nil, text, 3))
	fmt.Println(err)
	p, err := graph.Parse(fmt.Appendf(nil, text, 4))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(p)
	l, err := graph.Link(p, catalog{}, graph.Options{BlockFrames: 64})
	if err != nil {
		fmt.Println(err)
		return
	}
	e := l.Edges[0]
	fmt.Println("hold", e.Hold, "of", e.Rate, "frames per base frame, order", l.Order)
	// Output:
	// $.nodes[1].oversample_ratio: want a power of two, got 3 (AMP_E_PLAN)
	// graph bare
	// node x Input
	// node g Gain ratio=4
	// edge x.out -> g.in delay=100
	// hold 100 of 1 frames per base frame, order [0 1]
}
