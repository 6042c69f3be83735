// Package imatrix reads and writes importance matrices: for every column of a
// weight matrix, the sum of the squares of the activations that it is multiplied
// with. They weigh the errors of quantization, see package quant.
//
//	[Matrix]    sums by tensor of a GGUF file, and by expert
//	Matrix.Add  while a model runs
//	Read        llama.cpp's GGUF file, or its older .dat
//	Matrix.Write
//
// In GGUF, a tensor X has X.in_sum2 [experts, cols] and X.counts [experts, 1], the
// number of rows that were added. In .dat files sums are divided by the number
// of rows and multiplied by that of chunks.
package imatrix
