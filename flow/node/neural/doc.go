// Package neural holds layers of neural networks that run on streams, with the
// state that streaming requires.
//
//	Conv1d        causal convolution over time: kernel, dilation, stride
//	GRU           gated recurrent unit
//	SquaredError  mean over the channels of (in - target)², per frame
//
// Weights are tables in PyTorch's layout, so trained layers need no reordering:
//
//	Conv1d  weight [out, in, kernel]   bias [1, out, 1]
//	GRU     weight_ih [1, 3 hidden, in]  weight_hh [1, 3 hidden, hidden]
//	        bias_ih, bias_hh [1, 3 hidden, 1]     gates in the order r, z, n
//
// A causal layer pads on the left only: frame n reads no later frame, and a
// stream cut anywhere gives the same bits as the whole. The backward mode is
// backpropagation through the whole stream, not within a block.
package neural
