// Package place tells where the bytes of a model were while it ran, what bounded a token, and
// what would help: the account of a run, as values.
//
//	r, err := atenia.ReadLastRun(dir, "model.gguf")
//	r.Judge(roofs)          // what bounded a step, and what would help most
//	r.WriteText(os.Stdout)  // as "atenia explain" prints it
//
// A [LastRun] is written when a model is closed that was opened with an account, and read by
// atenia.ReadLastRun. All that is said follows from its figures, [RunCost], and from what the
// machine can, [RunRoofs]:
//
//	LastRun ─┬─ WeightGroup     where weights lay, by which rule
//	         ├─ StepTotals      of prompts and of decoding
//	         ├─ RunCost ──▶ Judge ──▶ Bound and Advice
//	         ├─ RunChange       decisions while it ran
//	         ├─ RunEvent        memory that became short, and came back
//	         └─ RunLearned      what was learned until its end
package place
