package amp_test

import (
	"fmt"

	"atenia/flow/amp"

	"atenia/flow"
	"atenia/flow/graph"
)

// The types of a library are appended to the shipped ones, and plans use both
// alike. A manifest without its library is enough to link a plan.
func ExampleTypes() {
	m, err := amp.ParseManifest([]byte(`{"abi": [2, 0], "nodes": [{"type": "Smooth", "inputs": ["in"], "outputs": ["out"],
		"params": ["a"], "caps": ["v2", "backward"], "jacobian": "toeplitz"}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	catalog := append(flow.ShippedTypes(), amp.Types(m, &amp.Library{})...)
	spec, err := catalog.Describe(&graph.Node{Name: "smooth", Type: "Smooth", SupportsV2: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(spec.Ins, spec.Outs, spec.Params[0].Name, spec.Adjoint)
	// Output: [in] [out] a true
}
