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
package backward
