// Package tensor defines the values that other packages exchange: an element
// type, a shape, and bytes that have them.
//
//	DType   how elements are stored, quantized blocks included
//	Shape   how many there are along each axis, outermost first
//	View    bytes with a type and a shape; it owns nothing
//
// A quantized type stores a row in blocks that share scales:
//
//	Q4_0, one row of 64 values
//	┌ scale f16 │ 16 bytes = 32 nibbles ┐┌ scale f16 │ 16 bytes ┐
//	└────────────── 18 bytes ───────────┘└────── 18 bytes ──────┘
//
// Blocks run along the last axis only, so rows can be cut, joined and
// reordered without looking inside a block, while columns cannot.
//
// The package does no input, no output and no arithmetic beyond 16-bit float
// conversion. Block layouts are those of ggml (ggml-common.h).
package tensor
