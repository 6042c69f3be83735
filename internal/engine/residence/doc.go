// Package residence materializes the weights of a model, each once, where a
// placement of package place says: into memory, into a ring that each step reads
// from the disk, or into a cache of experts that are read when tokens choose them. Without a placement they are the mapped files.
//
//	Tensors                      what a model takes, for the planner
//	  place.Place                which of it stays, which is streamed
//	Open                         maps, or reads what stays and starts the ring
//	  exec.Weights, exec.Stream  for an executor, which computes the same bytes
//
// Weights are read from the model's files, in the layout of the file. A weight
// whose layout differs from what kernels need is materialised once and pinned;
// in common formats only small ones are, such as vectors converted to F32 and
// constants.
package residence
