// Package grad computes exact gradients and trains with them. A tape records
// operations as they run, then replays them in reverse (reverse-mode automatic
// differentiation; R. E. Wengert, A simple automatic derivative evaluation
// program, 1964); an optimizer updates parameters from their gradients.
//
//	t := grad.New[float32](nil)
//	w := t.Param(weights, 4, 3)
//	x := t.Const(input, 2, 3)
//	loss := t.CrossEntropy(t.MatMulT(x, w), []int32{1, 3})
//	err := t.Backward(loss)
//	dw, ok := t.Grad(w)
//
//	Tape          operations, buffers, an arena each for values and gradients
//	Ref           a buffer of a tape
//	Registry      backward functions of opaque operations, by key
//	Optimizer     an update rule, its state for every parameter, and Step
//	Trainable     a parameter's values and gradient, as an optimizer sees them
//	RateSchedule  the learning rate's factor at a step
//
// A buffer is a value of up to four dimensions, a flag that says whether a
// gradient is needed, and later the gradient. An operation is a struct of fixed
// size in a slice, without closures or pointers. Its rule (shape, forward,
// gradient) is a row of one table, in rules.go.
//
//	            record ───────────────────────────────────▶
//	ops      matmult         silu            crossentropy
//	        ┌───────┐      ┌───────┐           ┌───────┐
//	values  │%3     │      │%4     │           │%6     │        never recycled
//	        └───────┘      └───────┘           └───────┘
//	grads   dw ◀────────── d%3 ◀────────────── d%4 ◀── 1       freed when replayed
//	            ◀─────────────────────────────────── Backward
//
// Computations without a rule here, such as attention or a memory that learns
// at inference time, are opaque operations: the caller computes the outputs and
// keeps what the gradient needs in saved buffers; during replay a registered
// function adds to the inputs' gradients.
//
// The package guarantees, and tests, four properties:
//
//   - Recorded values do not change. Param, Input and Const copy; every
//     operation has a new buffer. Borrow, for weights, relies on the caller.
//   - Recording does not change results: a tape without it runs the same kernels
//     on the same arena.
//   - Operations are replayed strictly in reverse, so gradients are added in one
//     order and are the same bits for any number of threads. The first
//     contribution is stored and later ones are added, which saves a pass to
//     zero them.
//   - After the first chunks a tape allocates nothing: Reset keeps the arenas.
//
// A gradient is computed only if a parameter or input is among the operands;
// rules skip the others. Errors (shapes, ranges, missing keys) are kept as the
// tape's first error, which names operation and shapes; see [Tape.Err].
//
// # Optimizers
//
// An optimizer updates parameters from their gradients.
//
//	Param       a tensor's values and gradient
//	Optimizer   a rule, its state for every parameter, and Step
//	Schedule    the learning rate's factor at a step
//	Norm        the norm of all gradients
//	ClipFactor  the factor that keeps that norm at a limit
//
// The rules, for a gradient g scaled by [Optimizer.Step] and a weight w already
// decayed to w·(1 − lr·decay), are:
//
//	SGD    m ← μ·m + g                        w ← w − lr·m         (Nesterov: g + μ·m)
//	AdamW  m ← β1·m + (1−β1)·g                w ← w − lr·m̂ ÷ (√v̂ + ε)
//	       v ← β2·v + (1−β2)·g²               m̂ = m/(1−β1^t), v̂ = v/(1−β2^t)
//	Lion   u = sign(β1·m + (1−β1)·g)          w ← w − lr·u
//	       m ← β2·m + (1−β2)·g
//	Muon   m ← μ·m + (1−μ)·g                  w ← w − lr·0.2·√max(rows, columns)·U·Vᵀ
//	       (1−μ)·g + μ·m = U·Σ·Vᵀ, nearly: Newton–Schulz; matrices only, AdamW for the rest
//
// Decay applies to tensors of two axes or more: norms and biases do not decay.
// [ClipFactor] is the factor that keeps the norm of all gradients, which a
// [Norm] measures, at a limit.
//
// Everything is generic over float32, for training, and float64, for checking
// gradients. A step allocates nothing. It runs on [Threads] with the
// same bits for any number of them: elements are independent, and sums have a
// fixed order. No multiplication is fused with an addition, so that results
// agree on all processors.
package grad
