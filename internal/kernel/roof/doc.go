// Package roof measures the machine's peak rates, for roofline analysis: a
// kernel is limited by the bytes it reads or by the operations it performs, so
// the nearer of two roofs says how much faster it could be.
//
//	Memory  ─ weights of decoding, larger than all caches
//	Cache   ─ activations, which fit in L2
//	FMA     ─ prefill with float weights
//	Dot     ─ prefill with quantized weights: int8 products
//
// A [Probe] keeps its memory between rounds, so that roofs and kernels can be
// measured alternately; [Measure] just returns numbers. The loops are functions
// of package kernel, in the instruction set of the variant in use.
package roof
