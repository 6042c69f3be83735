// Package adjoint runs a dataflow graph backwards: what a journal says of the
// forward calls is replayed in reverse, and gradients go from readers to
// writers.
//
//	Journal   of each node, its calls: how many tokens, what was read, what was
//	          written, the state before — the least that backward calls look at
//	Sweep     the replay: seeds at probes, sums for parameters, what comes out at
//	          inputs
//
//	forward    x ──▶ a ──▶ b ──▶ probe        frame n of x becomes frame n + π of b
//	                 └───▶ c ──▶ probe
//	backward   x ◀── a ◀─+─ b ◀── seed        frame n + π of b's gradient is frame n of x's
//	                     └─ c ◀── seed        sums in edge order
//
// The gradient is that of the whole stream (the discrete adjoint): a node
// carries the gradient of its state from each call back to the one before. A
// hold changes when frames move and not which: its transpose is the identity. A
// prefill's transpose drops the gradients of the zeros and shifts the others.
//
// A call may be replayed once all readers of its outputs have gone back to where
// it began. Which of several goes first does not matter: every edge has a
// channel of its own for gradients, and sums are made where a writer takes them,
// always in the same order.
package adjoint
