// Package snapshot writes and reads the files that a training run resumes from:
// arrays of float32 and a note, with checksums of both.
//
//	┌ safetensors file ──────────────────────────────────────────────┐
//	│ __metadata__: format  atenia.snapshot/1                        │
//	│               note    what the trainer knows, JSON of its own  │
//	│               sums    {"NAME": xxh3 of the tensor's bytes, …}  │
//	│               check   xxh3 of format, note, sums and shapes    │
//	│ tensors: F32 arrays, and U8 for bytes                          │
//	└────────────────────────────────────────────────────────────────┘
//
// Any reader of safetensors can look into one. [Write] leaves the old file or
// the whole new one, wherever it is stopped; [Open] has compared every byte with
// the sums before it returns, so that a damaged file is noticed before anything
// is taken from it, and an older one can be used.
package snapshot
