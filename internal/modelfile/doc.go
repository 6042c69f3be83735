// Package modelfile reads and writes the files that models come in.
//
//	.gguf file(s) ─┐                    ┌ Meta     ordered keys and values
//	               ├─ Open ▶ Description┤ Config   config.json, as it is
//	HF folder ─────┘                    │ Files    tokenizer.json and the like
//	                                    └ Tensors  name, type, shape, bytes
//
// A [Description] is what the files say and no more: it does not know what a
// layer is. Package compile turns it into a plan.
//
// Opening maps the files and reads their headers. A tensor's bytes are a slice
// of the mapping, so nothing is read from the disk before it is touched and
// nothing is ever copied to be looked at; a file that was cut short is noticed
// nevertheless, because its size is known. What must outlive the mapping, names
// and single values, is copied; views and metadata arrays end with
// [Description.Close].
//
// A file that is cut short while it is mapped ends the process when the missing
// part is touched, as with every mapping. [WriteGGUF] and [WriteSafetensors]
// therefore replace files and never shorten them.
//
// # Formats
//
//	GGUF         versions 2 and 3, little endian, in one file or split
//	             (gguf.go, parser.go, split.go; ggml's docs/gguf.md)
//	safetensors  one file, or several and an index
//	             (safetensors.go, folder.go; the format's README)
//
// Shapes are outermost axis first, as everywhere in Atenia: a GGUF file lists
// them the other way round.
//
// # Hostile input
//
// Files are taken for untrusted. Every count is compared with the bytes that
// are left before memory is asked for, and all that a header makes the reader
// keep is paid from a budget of twice the file (and one MiB, for small ones).
// Faults are [*FormatError] values that name the file, the place, what was
// expected, and what to do.
package modelfile
