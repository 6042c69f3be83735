// Package train is the loop that fits a model's parameters to data.
//
//	Source ─▶ batches ─▶ Learner ─▶ gradients ─▶ norm, clip ─▶ optim ─▶ parameters
//	  ▲                                                                     │
//	  │     at intervals:     held-out loss ─▶ best, early stop             │
//	  │                       snapshot ─▶ DIR/snapshots                     │
//	  └──────────────────────────── the next step ◀────────────────────────┘
//	                        every step: a line in DIR/metrics.jsonl
//
// A [Learner] has parameters and a loss: the plan of a model on a tape (package fit), or
// a [Nested] one, whose memory learns while it reads:
//
//	row of a batch ─▶ lane: chunk, chunk, … ─▶ nested.Builder ─▶ gradients
//	                  memory starts empty       conductor, error buffers
//
// The rows of its batches are parallel streams: their chunks are processed in order, so
// that memory carries over, and the gradient is that of the mean loss. A [Source] yields batches and knows its position. [Run] combines them.
//
// # Crash safety
//
// A snapshot holds parameters, optimizer state, the position in the data and all
// counters, in one file that is written atomically. A resumed run equals an
// uninterrupted one bit for bit, including its log: lines newer than the
// snapshot are removed and written again when their steps are repeated. Of
// several snapshots the newest with valid checksums is used.
//
// With Offload the master parameters and moments are in files stepped by package
// offload; every step is then durable by itself.
//
// # Decisions
//
// A step with a NaN or infinite loss or gradient is skipped and counted; too
// many in a row end the run. A run with Patience ends when the held-out loss
// stops improving, with the parameters of the best evaluation. No decision
// depends on a clock.
//
// # Snapshots
//
// A [Snapshot] is the file from which a run resumes: float32 arrays and a note,
// with checksums.
//
//	┌ safetensors file ──────────────────────────────────────────────┐
//	│ __metadata__: format  atenia.snapshot/1                        │
//	│               note    the trainer's state, as JSON             │
//	│               sums    {"NAME": xxh3 of the tensor's bytes, …}  │
//	│               check   xxh3 of format, note, sums and shapes    │
//	│ tensors: F32 arrays, and U8 for bytes                          │
//	└────────────────────────────────────────────────────────────────┘
//
// Any reader of safetensors can open one. [WriteSnapshot] replaces a file
// atomically; [OpenSnapshot] verifies every byte before it returns, so that a
// damaged file is detected before anything is restored from it, and an older one
// can be used.
//
// # Plots of the loss
//
// [PlotPNG] draws losses with axes, grid and legend, each step thin and their
// running mean thick; [PlotText] draws them in braille for a terminal, 2 × 4 dots
// a character. They draw everything themselves, including letters: a plotting
// library would add 8 MB to a program of 40, for one picture of two lines.
package train
