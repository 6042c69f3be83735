package heat_test

import (
	"fmt"
	"math"

	"atenia/flow/heat"
)

func Example() {
	m := heat.New([]string{"osc", "eq"})
	for range 1000 {
		m.Add(0, heat.Forward, 0.25)
	}
	m.Add(1, heat.Backward, math.NaN())
	r := m.Report()
	fmt.Println(r.Joules[heat.Forward], r.Nodes[0].Calls[heat.Forward], r.Ignored)
	// Output: 250 1000 1
}
