// Package record trains the plan that inference runs. The compiled prefill plan
// of a whole model is recorded on a tape ([grad.Tape]), one opaque block for
// each instruction, so that a family that runs can be trained as soon as its
// opcodes have gradients:
//
//	file tensors ─▶ Params ──────────┐ values in, gradients back
//	                                 ▼
//	compile.Model ─ New ─▶ Model ─ Loss ─▶ tape: plan.embedding, plan.norm, plan.attention, … plan.head
//	                 │                                                              │
//	                 └ adapter table: one adapter per opcode      Backward ◀── mean cross-entropy
//
// [Params] are the tensors of the file under their own names: what an optimizer
// steps and a snapshot of training holds. A plan's weight may be a part of one
// (phi3 keeps q, k and v in one tensor), several joined, or one reordered; it
// reads its values from there and its gradient is added there. Values are never
// copied on the tape, and gradients are added where the trainer keeps them. What
// is frozen has no gradient, and nothing is computed for it.
//
// The adapter table ([plan.NewAdapterTable], generated) has a parameter for every
// opcode that an executor runs: one without a gradient is nil in plain sight, and
// [New] refuses plans that need it with an [*UntrainedError].
//
//	opcode        recorded as      saved for the gradient besides inputs and outputs
//	embedding     plan.embedding   nothing
//	norm          plan.norm        mean and scale of each row
//	attention     plan.attention   q, k (also before their norms), v, sums, result
//	ffn           plan.ffn         gate and up
//	moe           plan.moe         router probabilities, gate and up of each place
//	residual_add  plan.add         scale of each row where a norm was fused
//	gather_rows   plan.gather      nothing
//	lm_head       plan.head        gradient of the logits, written over them
//
// Rows of a batch are documents one after another ([Batch]); attention and
// positions stay inside each. Everything is generic over float32, in which
// models are trained, and float64, in which the tests prove it.
package tape
