// Package file reads and writes model files.
//
//	.gguf file(s) ─┐                    ┌ Meta     ordered keys and values
//	               ├─ Open ▶ Description┤ Config   config.json, unparsed
//	HF folder ─────┘                    │ Files    tokenizer.json and the like
//	                                    └ Tensors  name, type, shape, bytes
//
// A [Description] holds what the files say and nothing derived: it does not know
// what a layer is. Package compile turns it into a plan.
//
// Opening maps the files and reads their headers. A tensor's bytes are a slice
// of the mapping, so that bytes are read from disk only when first touched and
// never copied; truncation is still detected, because the expected size is
// known. Data that outlives the mapping, names and single values, is copied;
// views and metadata arrays become invalid with [Description.Close].
//
// If a mapped file is truncated, touching the missing part kills the process, as
// with every mapping. [WriteGGUF] and [WriteSafetensors] therefore replace files
// and never shorten them.
//
// # Formats
//
//	GGUF         versions 2 and 3, little endian, in one file or split
//	             (gguf.go, parser.go, split.go; ggml's docs/gguf.md)
//	safetensors  one file, or several and an index
//	             (safetensors.go, folder.go; the format's README)
//
// Shapes are outermost axis first, as everywhere in Atenia; GGUF files store
// them in reverse.
//
// # Hostile input
//
// Files are untrusted. Every count is checked against the remaining bytes before
// memory is allocated, and everything a header makes the reader keep is charged
// to a budget of twice the file size (plus one MiB, for small files). Faults are
// [*FormatError] values that name the file, the position, what was expected, and
// a remedy.
package file
