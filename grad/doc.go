// Package grad computes exact gradients by reverse-mode automatic
// differentiation: a tape records operations as they run, then replays them in
// reverse (R. E. Wengert, A simple automatic derivative evaluation program,
// 1964).
//
//	t := grad.New[float32](nil)
//	w := t.Param(weights, 4, 3)
//	x := t.Const(input, 2, 3)
//	loss := t.CrossEntropy(t.MatMulT(x, w), []int32{1, 3})
//	err := t.Backward(loss)
//	dw, ok := t.Grad(w)
//
//	Tape      operations, buffers, an arena each for values and gradients
//	Ref       a buffer of a tape
//	Registry  backward functions of opaque operations, by key
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
package grad
