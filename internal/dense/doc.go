// Package dense is the arithmetic under the tape and under training: products
// of matrices in three orientations, vectors, activations, softmax, norms,
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
// scratch memory of what works on whole batches; it belongs to one goroutine at
// a time. Plain functions run on the caller's goroutine alone.
//
// # Forward and back
//
// A function and the product of its Jacobian, transposed, with a gradient of
// its result bear the same name, the latter with Back. Every Back adds to the
// gradients it is given, and a nil one is not wanted:
//
//	Activate(a, y, x)        ActivateBack(a, dx, x, dy)      dx += a′(x)·dy
//	w.RMSNorm(y, inv, x …)   w.RMSNormBack(dx, dweight, …)   both +=
//
// What a Back reads of the forward pass is an argument: inputs where they are
// kept anyhow, results where they say more (softmax), and small summaries, the
// inverse root mean squares of rows or the logarithms of sums, which forward
// functions write.
//
// # Order
//
// Results are the same bits for any number of threads: work is split over rows
// or outputs and never over what is added, and gradients of weights that are
// sums over rows are sums of fixed blocks of rows, added in order. A float32
// product adds as kernel.MatMul does: fused multiply-adds, k ascending, from
// zero, and the sums of every 256 are added to dst in order. The portable code
// says so and assembly yields the same bits. In float64, which exists to check
// gradients, everything is plain Go.
package dense
