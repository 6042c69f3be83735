// Package paged keeps the parameters and the gradients of a training run where
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
// persistent cache ([Pager.Persist]), from which a resumed run continues
// ([Pager.Warm]).
package paged
