// Package convert writes any model that Atenia reads as one GGUF file, in the
// element types of a [quant.Mix].
//
//	Hugging Face folder ─ compile ─▶ recipes ─┐
//	                    ─ text ────▶ keys ────┼─▶ tensor by tensor ─▶ one GGUF file
//	GGUF file(s) ── tensors and keys unchanged ──┘   rows in parallel
//
// A converted folder behaves like the original: the same token ids, stop tokens,
// chat template, recommended sampling and network. What the standard keys cannot
// express is written to additional ones:
//
//	tokenizer.huggingface.json    a tokenizer that tokenizer.ggml.* cannot express, whole
//	tokenizer.atenia.stop_tokens  stop tokens that do not follow from the other keys
//	general.sampling.typical_p    a recommendation without a standard key
//	atenia.*                      of the network, see package compile
//
// GGUF files of any architecture, even unknown ones, are rewritten: tensors that
// have the wanted type already are copied byte for byte.
//
// Tensors are produced when the writer reaches them, so memory is bounded by a
// slab of rows and, if rows must be joined or reordered, one source tensor. The
// output appears under its name once it is complete.
//
// Where to look: convert.go the steps, header.go the keys, vocab.go those of the
// tokenizer, stream.go the rows.
//
// # Importance matrices
//
// A [Matrix] has, for every column of a
// weight matrix, the sum of the squares of the activations that it is multiplied
// with. They weigh the errors of quantization.
//
//	[Matrix]    sums by tensor of a GGUF file, and by expert
//	Matrix.Add  while a model runs
//	Read        llama.cpp's GGUF file, or its older .dat
//	Matrix.Write
//
// In GGUF, a tensor X has X.in_sum2 [experts, cols] and X.counts [experts, 1], the
// number of rows that were added. In .dat files sums are divided by the number
// of rows and multiplied by that of chunks.
package convert
