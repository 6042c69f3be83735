// Package residence brings the weights of a model to the tiers of their
// placement: into RAM, or into a ring that every step reads from the SSD.
//
//	Tensors                      tensors of a model, for the planner
//	  place.Place                decides which are pinned and which are streamed
//	Open                         reads the pinned weights, starts the ring
//	  exec.Weights, exec.Stream  for an executor, which computes the same bytes
//
// Weights are read from the model's files, in the layout of the file. A weight
// whose layout differs from what kernels need is materialised once and pinned;
// in common formats only small ones are, such as vectors converted to F32 and
// constants.
package residence
