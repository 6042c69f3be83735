// Package tape trains the plan that inference runs. The compiled prefill plan of
// a whole model is recorded on a tape ([grad.Tape]), one opaque block for each
// instruction, so that a family that runs can be trained as soon as its opcodes
// have gradients:
//
//	file tensors ─▶ Params ──────────┐ values in, gradients back
//	                                 ▼
//	compile.Model ─ New ─▶ Model ─ Loss ─▶ tape: plan.embedding, plan.norm, plan.attention, … plan.head
//	                 │                                                              │
//	                 └ adapter table: one adapter per opcode      Backward ◀── mean cross-entropy
//
// [Params] are the tensors of the file under their own names: an optimizer steps
// them and a snapshot of training contains them. A plan's weight may be a part of
// one (phi3 keeps q, k and v in one tensor), several joined, or one reordered; its
// values are read from the tensor and its gradient is added to the tensor's.
// Values are never copied to the tape. Frozen tensors have no gradient, and none
// is computed for them.
//
// The adapter table ([plan.NewAdapterTable], generated) has a parameter for every
// opcode that an executor runs. An opcode without a gradient has an explicit nil,
// and [New] rejects plans that use it with an [*UntrainedError].
//
//	opcode        recorded as      saved for the gradient besides inputs and outputs
//	embedding     plan.embedding   nothing
//	norm          plan.norm        mean and scale of each row
//	attention     plan.attention   q, k (also before their norms), v, sums, result
//	ffn           plan.ffn         gate and up
//	moe           plan.moe         router probabilities, gate and up of each routed row
//	mamba1        plan.mamba1      projections, steps, outputs of the scan, a state every 16 rows
//	mamba2        plan.mamba2      projection, convolution, outputs of the scan, a state per chunk
//	residual_add  plan.add         scale of each row where a norm was fused
//	gather_rows   plan.gather      nothing
//	vision_scatter, deepstack_inject
//	              plan.scatter, plan.inject   nothing
//	pool, lm_head of encoders
//	              plan.pool, plan.projection  lengths; values before the function
//	cross_attention
//	              plan.cross_attention        q, k, v, sums, result
//	lm_head       plan.head        gradient of the logits, written over them
//
// Towers of images and encoders of sounds are not trained: their rows are part of
// a batch, as constants.
//
// An encoder has a loss of its own behind its last instruction, plan.objective: the
// contrast of queries and documents, or that of a classifier's scores.
//
// Rows of a batch are documents one after another ([Batch]); attention and
// positions stay inside each. Everything is generic over float32, in which
// models are trained, and float64, in which the tests check gradients.
package tape
