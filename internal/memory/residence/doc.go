// Package residence materialises the weights of a model, each once, where a
// placement of package place says: into memory, or into a ring that each step
// reads from the disk. Without a placement they are the mapped files.
//
//	Tensors                      what a model takes, for the planner
//	  place.Place                which of it stays, which is streamed
//	Open                         maps, or reads what stays and starts the ring
//	  exec.Weights, exec.Stream  for an executor, which computes the same bytes
//
// Files are read where they are, in the form they have. A weight that is no
// piece of a file, because kernels want another form of it, is made once and
// stays; all of those are small in the formats that models come in (vectors
// that become F32, constants).
package residence
