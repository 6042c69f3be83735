package flowtest_test

import (
	"fmt"

	"atenia/flow"
	"atenia/flow/graph"
	"atenia/flow/internal/flowtest"
	"atenia/flow/node"
)

// A node is called as a session would call it, without a plan around it. A test
// of a type of one's own passes its table instead, and [flowtest.CheckNode] tries
// everything else that the contract of package node asks for.
func Example() {
	table := flow.ShippedTypes()
	gain := flowtest.Node("Gain", "gain", 0.5)
	linked, err := flowtest.Link(table, &gain, []graph.Shape{{B: 1, C: 1}}, 4)
	if err != nil {
		fmt.Println(err)
		return
	}
	n, err := node.New[float32](table, node.Config{SampleRate: 48000, MaxTokens: 4, Node: linked})
	if err != nil {
		fmt.Println(err)
		return
	}
	in := flowtest.NewTensor[float32](graph.Shape{B: 1, C: 1}, 4)
	copy(in.Data, []float32{1, 2, 3, 4})
	out := flowtest.NewTensor[float32](graph.Shape{B: 1, C: 1}, 4)
	amount := node.Tensor[float32]{Data: []float32{0.5}, B: 1, C: 1, N: 1}
	heat := node.Tensor[float32]{Data: []float32{0}, B: 1, C: 1, N: 1}
	c := node.Call[float32]{In: []node.Tensor[float32]{in}, Out: []node.Tensor[float32]{out},
		Param: []node.Param[float32]{{Tensor: amount}, {Tensor: heat}}, Tokens: 4}
	fmt.Println(n.Forward(&c), out.Data)
	// Output: AMP_E_SUCCESS [0.5 1 1.5 2]
}
