// Package snapshot writes and reads the files from which a training run resumes:
// float32 arrays and a note, with checksums.
//
//	┌ safetensors file ──────────────────────────────────────────────┐
//	│ __metadata__: format  atenia.snapshot/1                        │
//	│               note    the trainer's state, as JSON             │
//	│               sums    {"NAME": xxh3 of the tensor's bytes, …}  │
//	│               check   xxh3 of format, note, sums and shapes    │
//	│ tensors: F32 arrays, and U8 for bytes                          │
//	└────────────────────────────────────────────────────────────────┘
//
// Any reader of safetensors can open one. [Write] replaces a file atomically;
// [Open] verifies every byte before it returns, so that a damaged file is
// detected before anything is restored from it, and an older one can be used.
package snapshot
