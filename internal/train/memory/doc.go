// Package memory makes a learner, and a reader, of a nested model: one whose
// memory learns while it reads.
//
//	row of a batch ─▶ lane: chunk, chunk, … ─▶ nested.Builder ─▶ gradients      [Model]
//	                  memory begins anew        conductor, error buffers
//
//	folder ─▶ tokenizer, parameters ─▶ nested.Reader ─▶ text, memory            [Reading]
//
// A batch's rows are streams beside each other. Their chunks are passed one
// after the other, so that memory reaches from chunk to chunk; the gradient is
// that of the mean loss of all. A folder is config.json, whose model_type is
// mag, model.safetensors and the tokenizer's files; what a reading has learnt is
// a file of its own.
package memory
