// Package residence puts the weights of a model where a plan of package budget
// says: into memory, or into a ring that each step reads from the disk.
//
//	Tensors                      what a model takes, for the planner
//	  budget.Place               which of it stays, which is streamed
//	Open                         reads what stays, starts the ring
//	  exec.Weights, exec.Stream  for an executor, which computes the same bytes
//
// Files are read where they are, in the form they have. A weight that is no
// piece of a file, because kernels want another form of it, is made once and
// stays; all of those are small in the formats that models come in (vectors
// that become F32, constants).
package residence
