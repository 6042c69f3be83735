// Package replay repeats recorded decisions with the functions that made them
// and reports every difference.
//
//	live      Recorder.Place, Plan, … ── decide ──▶ decision.Draft ──▶ log
//	later     log ── inputs ── the same decide ──▶ the same line, byte for byte
//	what if   log ── inputs changed by a Policy ── decide ──▶ what differs
//
//	component      decides                                    function
//	placement      where a tensor belongs, by pressures       tier.Decide
//	offload        what to evict under memory pressure        tier.Offload.PlanWithTick
//	planner        where a kernel runs                        stream.MakePlan
//	router         the same, after its tensors were moved     stream.Plan.After
//	backward       where a backward pass runs                 backward.TargetOf
//	warm_start     what to do with a restored tensor          checkpoint.PlanWarmStart
//	trainer        which backend a bucket prefers             learn.Trainer.Recommend
//	autoloop       the backend of the next tick               learn.Turn.Decide
//	policy         the backend by measured latency            learn.Measured.Decide
//	budget         where every tensor of a model lives        budget.Place, Reload
//	budget_tensor  why one of them is there                   budget.Plan.Decision
//
// [Check] detects a change to any byte of a log: the record replays differently,
// its hash does not match, or the next record's parent does not. Undetectable
// are only the removal of the last record, its replacement by a consistent one,
// and a change to its wall clock.
package replay
