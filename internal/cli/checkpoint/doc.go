// Package checkpoint is the command that works on the folders of checkpoints.
//
//	save MODEL DIR   tensors of a model, or of a cache
//	inspect DIR      what was where, drift on this machine, the warm start
//	verify DIR       every byte against every sum
//	restore DIR      as a program would, eagerly or lazily
//	gc DIR           entries of the cache that no checkpoint names
package checkpoint
