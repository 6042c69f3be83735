// Package dense implements the arithmetic of the gradient tape and of training:
// matrix products in three orientations, vectors, activations, softmax, norms,
// rotary positions, causal attention and cross-entropy, each with its
// vector-Jacobian product, in float32 and in float64.
//
//	            dst           left      right
//	MulT        [m, n]   =    [m, k]  · [n, k]ᵀ     y = x·Wᵀ, the forward product
//	Mul         [m, n]   =    [m, k]  · [k, n]      dx = dy·W
//	TMul        [m, n]   =    [k, m]ᵀ · [k, n]      dW = dyᵀ·x
//	AddMulT …   the same, added to dst
//
// Matrices are row-major and contiguous. A [Work] holds the threads and the
// scratch memory of batched operations; it belongs to one goroutine at a time.
// Plain functions run on the caller's goroutine.
//
// # Forward and backward
//
// The vector-Jacobian product of a function has the function's name with the
// suffix Back. Every Back adds to the gradients it is given; a nil gradient is
// not computed:
//
//	Activate(a, y, x)        ActivateBack(a, dx, x, dy)      dx += a′(x)·dy
//	w.RMSNorm(y, inv, x …)   w.RMSNormBack(dx, dweight, …)   both +=
//
// What a Back needs of the forward pass is an argument: inputs, which callers
// keep anyway, results where they are more useful (softmax), and small
// summaries written by forward functions, such as the inverse root mean squares
// of rows or the logarithms of sums.
//
// # Order
//
// Results are the same bits for any number of threads: work is split over rows
// or outputs, never over summands, and gradients of weights that are sums over
// rows are sums of fixed blocks of rows, added in order. A float32 product
// accumulates like kernel.MatMul: fused multiply-adds, k ascending, from zero,
// with the sums of every 256 added to dst in order. The portable code specifies
// this and assembly yields the same bits. In float64, which exists to check
// gradients, everything is plain Go.
package dense
