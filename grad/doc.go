// Package grad finds exact gradients: a tape records operations as they run,
// then replays them in reverse (R. E. Wengert, A simple automatic derivative
// evaluation program, 1964).
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
// size in a slice: no closure, no pointer of its own. Its rule (shape, forward,
// gradient) stands in one table, rules.go.
//
//	            record ───────────────────────────────────▶
//	ops      matmult         silu            crossentropy
//	        ┌───────┐      ┌───────┐           ┌───────┐
//	values  │%3     │      │%4     │           │%6     │        never recycled
//	        └───────┘      └───────┘           └───────┘
//	grads   dw ◀────────── d%3 ◀────────────── d%4 ◀── 1       freed when replayed
//	            ◀─────────────────────────────────── Backward
//
// What has structure but no rule here, such as attention or a memory that
// learns while it reads, is an opaque operation: its caller computes outputs
// and keeps what it likes in saved buffers; at replay a registered function
// adds to the inputs' gradients. Nobody else sees what goes on inside.
//
// Four things hold and are tested:
//
//   - Nothing recorded changes. Param, Input and Const copy; every operation has
//     a new buffer. Borrow, for weights, has the caller's word for it.
//   - Recording does not change results: a tape without it runs the same kernels
//     on the same arena.
//   - Operations are replayed strictly in reverse, so gradients add up in one
//     order and are the same bits for any number of threads. The first
//     contribution is stored and later ones added: no pass to zero them.
//   - After the first chunks a tape allocates nothing: Reset keeps the arenas.
//
// A gradient is found only where a parameter or input is among the operands;
// rules skip the others. Mistakes (shapes, ranges, missing keys) are kept as the
// tape's first error, naming operation and shapes; see [Tape.Err].
package grad
