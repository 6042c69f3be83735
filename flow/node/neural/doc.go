// Package neural holds the layers of models that run on streams, with the state
// that streaming takes.
//
//	Conv1d        causal convolution over time: kernel, dilation, stride
//	GRU           gated recurrent unit
//	SquaredError  mean over the channels of (in - target)², a frame each
//
// Weights are tables laid out as PyTorch lays them out, so a trained layer needs
// no reordering:
//
//	Conv1d  weight [out, in, kernel]   bias [1, out, 1]
//	GRU     weight_ih [1, 3 hidden, in]  weight_hh [1, 3 hidden, hidden]
//	        bias_ih, bias_hh [1, 3 hidden, 1]     gates in the order r, z, n
//
// A causal layer pads on the left only: frame n sees no later frame, and a
// stream cut anywhere gives the bits of the whole. The backward mode is
// backpropagation through all of the stream, not within a block.
package neural
