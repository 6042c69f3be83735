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
package graph
