package view_test

import (
	"fmt"
	"log"
	"strings"

	"atenia/flow"
	"atenia/flow/graph"
	"atenia/flow/view"
)

func Example() {
	p, err := graph.Parse([]byte(`{"nodes": [{"name": "tone", "type": "Constant"}, {"name": "out", "type": "Probe"}],
		"edges": [{"source": "tone", "target": "out", "delay_frames": 96}]}`))
	if err != nil {
		log.Fatal(err)
	}
	l, err := graph.Link(p, flow.ShippedTypes(), graph.Options{})
	if err != nil {
		log.Fatal(err)
	}
	svg := string(view.SVG(l, view.SVGOptions{SampleRate: 48000}))
	fmt.Println(strings.HasPrefix(svg, "<svg "), strings.Contains(svg, "hold 96"), strings.Contains(svg, "latency 96 (2 ms)"))
	// Output: true true true
}
