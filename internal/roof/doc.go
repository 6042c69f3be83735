// Package roof measures the most that this machine can do, which is what
// kernels are compared with: a kernel is limited by the bytes that it reads or
// by the operations that it does, so the nearer of two roofs says how much
// faster it could be.
//
//	Memory  ─ weights of decoding, larger than all caches
//	Cache   ─ activations, which fit the second-level cache
//	FMA     ─ prefill with float weights
//	Dot     ─ prefill with quantised weights: int8 products
//
// A [Probe] keeps its memory between rounds, so that roofs can be measured in
// turns with kernels; [Measure] is for callers that want numbers. The loops
// themselves are functions of package kernel, in the instruction set of the
// variant in use.
package roof
