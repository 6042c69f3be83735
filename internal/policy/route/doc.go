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
// The rules are one table in choice.go, the file to read first; the first rule
// that applies decides.
//
// # Many kernels
//
// A [Graph] is kernels in order with the tensors of each. [Graph.Place] and
// [Graph.PlaceLive] say where each would run, by given or by current tiers;
// [Graph.Enqueue] routes them all. A [Loop] does that again and again while its
// tensors move: in each tick, kernels pull tensors to where they run, and
// offloading evicts them under pressure. An engine calls [Loop.Tick] between two
// steps of a model; its weights have an owner, which lends them to kernels (see
// [memory.Owner]), so that a kernel that streams moves nothing.
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
