// Package train is the loop that fits a model's parameters to data.
//
//	Source ─▶ batches ─▶ Learner ─▶ gradients ─▶ norm, clip ─▶ optim ─▶ parameters
//	  ▲                                                                     │
//	  │     every so many steps:  held-out loss ─▶ best, early stop         │
//	  │                           snapshot ─▶ DIR/snapshots                 │
//	  └──────────────────────────── the next step ◀────────────────────────┘
//	                        every step: a line in DIR/metrics.jsonl
//
// A [Learner] is whatever has parameters and a loss: a compiled plan that is
// recorded, or a nested model. A [Source] yields batches and knows its place.
// [Run] brings them together.
//
// # What a kill leaves
//
// A snapshot holds parameters, the optimizer's state, the place in the data and
// all counts, in one file that is there whole or not at all. A run that is
// resumed from one is bit for bit the run that was never stopped, its log
// included: lines that are newer than the snapshot are taken back, and written
// again by the steps that are done again. Of several snapshots the newest that
// passes its checksums is used.
//
// With Offload the float32 parameters and moments live in files that
// atenia/tier/train steps; there every step is durable by itself.
//
// # What is decided
//
// A step whose loss or gradients are no numbers is skipped and counted; too many
// in a row end the run. A run with Patience ends when held-out data gets no
// better, and its learner then has the parameters of the best evaluation.
// Nothing is decided by a clock.
package train
