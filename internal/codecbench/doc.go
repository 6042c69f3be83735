// Package codecbench measures compression ratios of codecs on tensors, and the
// bytes that a core encodes and decodes per second of processor time.
//
//	tensors of a file, grouped by element type
//	  or synthetic bfloat16 weights: normal, a scale for each row
//	every applicable codec, repeatedly
package codecbench
