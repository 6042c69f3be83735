// Package adjoint runs a dataflow graph backward (reverse-mode
// differentiation): a journal of the forward calls is replayed in reverse, and
// gradients flow from readers to writers.
//
//	Journal   of each node, its calls: number of tokens, inputs, outputs, the
//	          state before — the minimum that backward calls read
//	Sweep     the replay: seeds at probes, sums for parameters, gradients at
//	          inputs
//
//	forward    x ──▶ a ──▶ b ──▶ probe        frame n of x becomes frame n + π of b
//	                 └───▶ c ──▶ probe
//	backward   x ◀── a ◀─+─ b ◀── seed        frame n + π of b's gradient is frame n of x's
//	                     └─ c ◀── seed        sums in edge order
//
// The gradient is that of the whole stream (the discrete adjoint): a node
// carries the gradient of its state from each call back to the preceding one. A
// hold changes when frames move and not which: its transpose is the identity. A
// prefill's transpose drops the gradients of the zeros and shifts the others.
//
// A call may be replayed once all readers of its outputs have gone back to
// where it began. The order of calls that are ready does not matter: every edge
// queues its gradients separately, and the writer sums them, always in edge
// order.
package adjoint
