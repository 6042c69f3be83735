package signal

import (
	"atenia/flow/graph"
	"atenia/flow/node"
)

// NeuralTypes returns the table of layers of neural networks that run on
// streams, with the state that streaming requires. Weights are tables in
// PyTorch's layout, so trained layers need no reordering:
//
//	Conv1d  weight [out, in, kernel]   bias [1, out, 1]
//	GRU     weight_ih [1, 3 hidden, in]  weight_hh [1, 3 hidden, hidden]
//	        bias_ih, bias_hh [1, 3 hidden, 1]     gates in the order r, z, n
//
// A causal layer pads on the left only: frame n reads no later frame, and a
// stream cut anywhere gives the same bits as the whole. The backward mode is
// backpropagation through the whole stream, not within a block.
func NeuralTypes() node.Table {
	return node.Table{
		{Name: "Conv1d", Doc: "causal convolution over time; weight [out, in, kernel], bias [1, out, 1]; one frame per stride frames",
			Ins: []string{"in"}, Outs: []string{"out"}, Adjoint: true, Jacobian: graph.Toeplitz,
			Tables:   []node.Default{{Name: "weight", Value: 1}, {Name: "bias"}},
			Settings: []node.Setting{{Name: "dilation", Least: 1, Value: 1}, {Name: "stride", Least: 1, Value: 1}},
			Refine:   refineConv, New32: newConv[float32], New64: newConv[float64]},
		{Name: "GRU", Doc: "gated recurrent unit; weight_ih, weight_hh, bias_ih, bias_hh as in PyTorch",
			Ins: []string{"in"}, Outs: []string{"out"}, Adjoint: true,
			Tables: []node.Default{{Name: "weight_ih"}, {Name: "weight_hh"}, {Name: "bias_ih"}, {Name: "bias_hh"}},
			Refine: refineGRU, New32: newGRU[float32], New64: newGRU[float64]},
		{Name: "SquaredError", Doc: "mean over the channels of (in - target)^2",
			Ins: []string{"in", "target"}, Outs: []string{"out"}, Adjoint: true, Jacobian: graph.Block,
			Refine: refineError, New32: newSquaredError[float32], New64: newSquaredError[float64]},
	}
}
