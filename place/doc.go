// Package place tells where the bytes of a model live and why, how long a token is expected to
// take and took, what bounds it, and what would help, as values.
//
//	a, err := atenia.Advise(ctx, "model.gguf", cfg) // an [Advice]: will it run?
//	a.WriteText(os.Stdout)                          // as "atenia doctor" prints it
//
//	r, err := atenia.ReadLastRun(dir, "model.gguf") // a [LastRun]: how did it run?
//	r.Judge(roofs)
//	r.WriteText(os.Stdout) // as "atenia explain" prints it
//
// Before a run there are predictions, while it runs there is what the process has, and
// afterwards an account:
//
//	Advice ── Outcome, Remedy      what becomes of a model in a memory, see [Verdict]
//	Decision, Tensor, Prediction   of a placement: a tensor's tier, a pass's seconds
//	MemoryMap, Packing, Experts    of an open model
//	Comparison                     predicted beside measured
//	LastRun ─┬─ WeightGroup        where weights lay, by which rule
//	         ├─ StepTotals         of prompts and of decoding
//	         ├─ RunCost ──▶ Judge ──▶ Bound and Advice
//	         ├─ RunChange, RunEvent, RunLearned
//	Explanations, ReplayReport     what was learned of backends, and decisions made again
//
// All that is said of a run follows from its figures, [RunCost], and from what the machine can,
// [RunRoofs].
package place
