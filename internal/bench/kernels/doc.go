// Package kernels measures kernels against the machine's roofs, and codecs on
// tensors, without a model.
//
//	RunKernels   for every format       weights, activations, cached keys and values
//	               for every round      each kernel in turn, and the machine's roofs
//	             Report                 the medians, as shares of the nearer roof
//
//	RunCodecs    tensors of a file by element type, or synthetic bfloat16 weights:
//	             normal, a scale for each row
//	               every applicable codec, repeatedly
//	             CodecResult            ratio; bytes encoded and decoded per second
//	                                    of a core's processor time
//
// Kernels and roofs are measured in the same rounds, so that a temporarily slow
// machine affects both.
package kernels
