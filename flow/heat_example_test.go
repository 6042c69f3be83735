package flow_test

import (
	"fmt"
	"math"

	"atenia/flow"
)

func Example_heat() {
	m := flow.NewHeatMeter([]string{"osc", "eq"})
	for range 1000 {
		m.Add(0, flow.Forward, 0.25)
	}
	m.Add(1, flow.Backward, math.NaN())
	r := m.Report()
	fmt.Println(r.Joules[flow.Forward], r.Nodes[0].Calls[flow.Forward], r.Ignored)
	// Output: 250 1000 1
}
