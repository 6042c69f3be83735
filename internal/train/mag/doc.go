// Package mag implements a learner and a reader for nested models, whose
// memory learns while reading.
//
//	row of a batch ─▶ lane: chunk, chunk, … ─▶ nested.Builder ─▶ gradients      [Model]
//	                  memory starts empty       conductor, error buffers
//
//	folder ─▶ tokenizer, parameters ─▶ nested.Reader ─▶ text, memory            [reading]
//
// The rows of a batch are parallel streams. Their chunks are processed in order,
// so that memory carries over from chunk to chunk; the gradient is that of the
// mean loss of all. A folder has config.json, whose model_type is mag,
// model.safetensors and the tokenizer's files; what a reading has learnt is kept
// in a separate file.
package mag
