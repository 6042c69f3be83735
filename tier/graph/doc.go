// Package graph runs the kernels of a model over and over while their tensors
// move between tiers.
//
//	Graph   kernels in order, the tensors of each
//	  │
//	  ├─ Plan, PlanLive   where each kernel would run, by static or live tiers
//	  ├─ Enqueue          routes every kernel: prefetches, moves, computations
//	  │
//	  ▼
//	Loop    a tick for each snapshot of pressures: enqueue, run, then offload
//	        what the pressures drive out; all as lines of a timeline
//
//	Pager   the loop that really runs: bytes in RAM stay below a limit, what is
//	        needed last leaves first, reads hide behind kernels
//
// In a [Loop] the kernels pull tensors to where they run, and pressure pushes
// them out again, each without knowing of the other. A [Pager] plans both at
// once. The order of kernels says when each tensor is needed next; what is
// needed last leaves first (Belady, "A study of replacement algorithms for a
// virtual-storage computer", 1966).
//
// graph.go is the file to read first.
package graph
