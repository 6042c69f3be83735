// Package offload keeps the state of a training run in files and steps it in
// chunks that fit in a few buffers: AdamW needs 14 bytes per parameter, and only
// one layer's gradients have to be in memory.
//
//	backward ─▶ gradients of a layer ─┐
//	                                  ▼
//	read 16 MiB ──▶ [ buffers ] ──▶ AdamW ──▶ [ buffers ] ──▶ write, sync
//	  version a                                                version b
//	                                                              │
//	                               journal: step, versions, sums ◀┘ atomically
//
// A [State] holds for every [Layer] the float32 master parameters, both moments,
// and the bfloat16 parameters used by forward and backward passes. [State.Step]
// takes gradients layer by layer, as a backward pass produces them;
// [State.Params] streams parameters in and prefetches one layer;
// [State.Accumulate] adds the gradients of several batches before a step.
//
// # Crash safety
//
// Every layer has two versions of its files. A step reads one and writes the
// other, syncs it, and then atomically replaces the journal, which names the
// current version. A kill or a power failure at any moment leaves either the old
// step or the new one, and nothing is written twice. The price is room for two
// versions, 28 bytes per parameter. An interrupted step is computed again;
// accumulated gradients are lost with it.
//
// The journal carries a note of the trainer, so that its position in the data
// advances atomically with the step.
//
// # Bitwise reproducibility
//
// The arithmetic is float32 in a fixed order, element by element, so that chunk
// sizes, buffers and processors do not change a bit: a run that was killed and
// resumed equals an uninterrupted one, and a run from files equals one in memory
// ([New]).
//
// # Paging
//
// A [Pager] keeps the parameters and the gradients of a training run where
// there is room: in files, from which a [Pager] brings those of one block of the
// model at a time.
//
//	offload.State ── read ahead ─▶ values of a block ─▶ forward, backward
//	    ▲                                                     │
//	    └──────── step ◀── gradients: in memory, or on disk ◀─┘
//
// Values are in files as the optimizer left them: rounded to bfloat16 where the
// run computes with rounded parameters, or the float32 originals. While a block
// is computed, the next one is read if the account has room. Gradients are tensors
// of a [memory.Manager]: before the backward pass of a block those of earlier
// batches are moved to memory by package route, which also decides where the block
// runs; afterwards they stay in memory if the plan says so and go to the disk if
// not, while the next block is computed.
//
// Everything large is reserved in an account of package ledger before it is
// taken. What is read ahead and what is being written gives way to a block that
// needs the room.
//
// A step that is interrupted between its batches keeps their gradients in a
// persistent cache and lists them in a checkpoint ([Pager.Persist]), from which a
// resumed run continues ([Pager.Warm]). "atenia checkpoint inspect" and verify read
// it, too: it is the folder state/interrupted of the run.
package offload
