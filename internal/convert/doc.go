// Package convert writes any model that Atenia reads as one GGUF file, in the
// element types of a [quant.Mix].
//
//	Hugging Face folder ─ compile ─▶ recipes ─┐
//	                    ─ text ────▶ keys ────┼─▶ tensor by tensor ─▶ one GGUF file
//	GGUF file(s) ── tensors and keys as they are ┘   rows in parallel
//
// A converted folder behaves as the folder does: the same token ids, stop
// tokens, chat template, recommended sampling and network. What the usual keys
// cannot say goes into others, and only then:
//
//	tokenizer.huggingface.json    a tokenizer that tokenizer.ggml.* cannot express, whole
//	tokenizer.atenia.stop_tokens  stop tokens that the other keys do not yield
//	general.sampling.typical_p    a recommendation that has no usual key
//	atenia.*                      of the network, see package compile
//
// GGUF files of any architecture are rewritten, known or not: tensors that
// have the wanted type already are copied byte for byte.
//
// Memory is bounded by one tensor as its source keeps it, where its rows must
// be joined or reordered, and a slab of rows: tensors are made when the writer
// comes to them. The file appears under its name when it is whole.
//
// Where to look: convert.go the steps, header.go the keys, vocab.go those of
// the tokenizer, stream.go the rows.
package convert
