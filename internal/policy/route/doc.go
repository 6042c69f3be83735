// Package stream decides where a kernel runs and submits the tasks that bring
// its tensors there.
//
//	Kernel, tiers of its tensors, pressures
//	        │
//	        ▼
//	   MakePlan ──▶ Plan: target, reason, Trace of the rules that were tried
//	        │
//	        ▼
//	Route, RouteTensors ──▶ prefetch, move, compute as a [timeline.Task] each
//	        │
//	        ▼
//	   timeline.Submitter: a Timeline (lines of text), or lanes that execute
//
// The rules are one table in choice.go; the first that applies wins, and the trace
// lists every rule up to it.
//
// choice.go is the file to read first.
//
// # Graph
//
// Package graph runs the kernels of a model repeatedly while their tensors move
// between tiers.
//
//	Graph   kernels in order, the tensors of each
//	  │
//	  ├─ Plan, PlanLive   where each kernel would run, by static or live tiers
//	  ├─ Enqueue          routes every kernel: prefetches, moves, computations
//	  │
//	  ▼
//	Loop    a tick for each snapshot of pressures: enqueue, run, then evict
//	        under pressure; all as lines of a timeline
//
//	Pager   an executor: bytes in RAM stay below a limit, the tensor needed
//	        furthest in the future is evicted, reads overlap with kernels
//
// In a [Loop], kernels pull tensors to where they run and offloading evicts them
// under pressure, independently of each other. A [Pager] plans both together:
// the order of kernels tells when each tensor is needed next, and the one needed
// last is evicted (Belady, "A study of replacement algorithms for a
// virtual-storage computer", 1966).
//
// graph.go is the file to read first.
//
// # Backward
//
// Package backward places the backward pass of kernels, moves their gradients to
// where it runs, and persists gradients across restarts.
//
//	nodes of the forward pass, in order
//	        │   in reverse order, for each node:
//	        ▼
//	   TargetOf ──▶ Gpu only if the forward pass ran there and every gradient is
//	        │       declared to be in VRAM
//	        ▼
//	   gradients move to VRAM or RAM; a failed move degrades the node to the Cpu
//	        │
//	        ▼
//	   submit backward:node<id>
//
// [Execute] writes the outcome to a timeline, [ExecuteTraced] also returns a
// record of every move. Neither runs the tasks it submits.
//
// [Persist] writes gradients to the persistent cache, [Warm] restores those that
// are missing.
//
// place.go is the file to read first.
package route
