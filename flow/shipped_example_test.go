package flow_test

import (
	"fmt"

	"atenia/flow"
	"atenia/flow/internal/flowtest"
)

// The table describes the ports, parameters and settings of every type.
func Example_shipped() {
	n := flowtest.Node("Delay", "delay", 480, "interpolation", "cubic")
	typ, _ := flow.ShippedTypes().Lookup("Delay")
	fmt.Println(typ.Doc)
	_, err := flow.ShippedTypes().Describe(&n)
	fmt.Println(err)
	// Output:
	// y[n] = x[n - delay]; a modulated delay is clamped to 0..max_delay frames (0: one second)
	// $.nodes[0].params.interpolation: one of none, linear, lagrange wanted (AMP_E_PLAN: Delay)
}
