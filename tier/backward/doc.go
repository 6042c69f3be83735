// Package backward places the backward pass of kernels, brings their gradients
// to where it runs, and keeps gradients over restarts.
//
//	nodes of the forward pass, in order
//	        │   in reverse order, for each node:
//	        ▼
//	   TargetOf ──▶ Gpu only if the forward pass was there and every gradient is
//	        │       declared to be in VRAM
//	        ▼
//	   gradients move to VRAM or RAM; one that fails sends the node to the Cpu
//	        │
//	        ▼
//	   submit backward:node<id>
//
// [Execute] writes what happens to a timeline, [ExecuteTraced] also returns a
// record of every move. Neither runs what it submits.
//
// [Persist] writes gradients to the persistent cache, [Warm] brings back those
// that are missing.
//
// place.go is the file to read first.
package backward
