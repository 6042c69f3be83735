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
// graph.go is the file to read first.
package graph
