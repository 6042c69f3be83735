// Package kernelbench measures kernels against what the machine can do, without
// a model.
//
//	for every format        weights, activations, cached keys and values
//	  for every round       each kernel in turn, and the machine's roofs
//	report                  the medians, as shares of the nearer roof
//
// Kernels and roofs are measured in the same rounds, so that a machine that is
// slower for a while is slower for both.
package kernelbench
