package node_test

import (
	"fmt"

	"atenia/flow/graph"
	"atenia/flow/internal/flowtest"
	"atenia/flow/node"
)

// Types of one's own are entries of a table.
func Example() {
	table := node.Table{{
		Name: "Negate", Ins: []string{"in"}, Outs: []string{"out"},
		New32: newNegate[float32], New64: newNegate[float64],
	}}
	plan := flowtest.Node("Negate")
	linked, err := flowtest.Link(table, &plan, []graph.Shape{{B: 1, C: 1}}, 64)
	if err != nil {
		fmt.Println(err)
		return
	}
	n, err := node.New[float32](table, node.Config{SampleRate: 48000, MaxTokens: 64, Node: linked})
	if err != nil {
		fmt.Println(err)
		return
	}
	c := node.Call[float32]{
		In:     []node.Tensor[float32]{{Data: []float32{1, 2, 3}, B: 1, C: 1, N: 3}},
		Out:    []node.Tensor[float32]{{Data: make([]float32, 3), B: 1, C: 1, N: 3}},
		Tokens: 3,
	}
	fmt.Println(n.Forward(&c), c.Out[0].Data)
	// Output: AMP_E_SUCCESS [-1 -2 -3]
}

type negate[F node.Float] struct{}

func newNegate[F node.Float](node.Config) (node.Instance[F], error) { return negate[F]{}, nil }

func (negate[F]) Reset() {}

func (negate[F]) Forward(c *node.Call[F]) graph.Code {
	for i, v := range c.In[0].Data {
		c.Out[0].Data[i] = -v
	}
	return graph.Success
}
