// Package packed reads weights that other tools quantized and stored as several
// safetensors for each matrix.
//
//	quantization_config ─┐
//	                     ├─ Read ▶ Folder: one Tensor for each matrix, in a type
//	stored tensors ──────┘         that Atenia computes with, made row by row
//
// A matrix has the name that the unquantized folder gives it, so that nothing
// above this package knows of packing. Which modules are quantized follows from
// the tensors that are there; the configuration says how.
//
// # Methods
//
//	method               tensors of one matrix X              becomes
//	mxfp4 (gpt-oss)      X_blocks X_scales                    X.weight MXFP4, exact
//
// Configurations and tensors are untrusted: every shape is checked against the
// others before a byte is read. A method that is not in the table is left as it
// is stored, and package compile refuses it by name.
package packed
