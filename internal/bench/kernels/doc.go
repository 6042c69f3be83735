// Package kernelbench measures kernels against the machine's roofs, without a
// model.
//
//	for every format        weights, activations, cached keys and values
//	  for every round       each kernel in turn, and the machine's roofs
//	report                  the medians, as shares of the nearer roof
//
// Kernels and roofs are measured in the same rounds, so that a temporarily slow
// machine affects both.
//
// # Codecbench
//
// Package codecbench measures compression ratios of codecs on tensors, and the
// bytes that a core encodes and decodes per second of processor time.
//
//	tensors of a file, grouped by element type
//	  or synthetic bfloat16 weights: normal, a scale for each row
//	every applicable codec, repeatedly
package kernels
