// Package route decides where the kernels of a model run, processor or device,
// and moves their tensors there.
//
//	Choose   Kernel, tiers of its tensors, pressures ──▶ Choice: target, reason,
//	           │                                         Trace of the rules tried
//	           ▼
//	Route, RouteTensors ──▶ prefetch, move, compute as a [timeline.Task] each
//	           │
//	           ▼
//	timeline.Submitter: a Timeline (lines of text), or lanes that execute
//
// The rules are one table in plan.go, the file to read first; the first rule
// that applies decides.
//
// # Many kernels
//
// A [Graph] is kernels in order with the tensors of each. [Graph.Plan] and
// [Graph.PlanLive] say where each would run, by given or by current tiers;
// [Graph.Enqueue] routes them all. Two types run a graph repeatedly while its
// tensors move:
//
//	Loop    a tick for each snapshot of pressures: enqueue, run, then evict under
//	        pressure; all as lines of a timeline
//	Pager   an executor: bytes in RAM stay below a limit, the tensor needed
//	        furthest in the future is evicted, reads overlap with kernels
//
// In a [Loop], kernels pull tensors to where they run and offloading evicts them
// under pressure, independently of each other. A [Pager] plans both together:
// the order of kernels tells when each tensor is needed next, and the one needed
// last is evicted (Belady, "A study of replacement algorithms for a
// virtual-storage computer", 1966).
//
// # The backward pass
//
// [ExecuteBackward] visits the nodes of a forward pass in reverse order. For
// each, [BackwardTarget] is the device only if the forward pass ran there and
// every gradient is declared to be in VRAM. [PrepareGradients] moves the
// gradients there or to RAM; if a move fails, the node degrades to the
// processor. Then backward:node<id> is submitted. The outcome is a timeline;
// [ExecuteBackwardTraced] also returns a record of every move. Neither runs the
// tasks it submits.
//
// [PersistGradients] writes gradients to the persistent cache, [WarmGradients]
// restores those that are missing.
package route
