// Package replay makes recorded decisions again, with the functions that made
// them, and tells every difference.
//
//	live      Recorder.Place, Plan, … ── decide ──▶ decision.Draft ──▶ log
//	later     log ── inputs ── the same decide ──▶ the same line, byte for byte
//	what if   log ── inputs changed by a Policy ── decide ──▶ what differs
//
//	component      decides                                    function
//	placement      where a tensor belongs, by pressures       tier.Decide
//	offload        what leaves memories that run full         tier.Offload.PlanWithTick
//	planner        where a kernel runs                        stream.MakePlan
//	router         the same, once its tensors were moved      stream.Plan.After
//	backward       where a backward pass runs                 backward.TargetOf
//	warm_start     what to do with a restored tensor          checkpoint.PlanWarmStart
//	trainer        which backend a bucket prefers             learn.Trainer.Recommend
//	autoloop       the backend of the next tick               learn.Turn.Decide
//	policy         the backend by measured latency            learn.Measured.Decide
//	budget         where every tensor of a model lives        budget.Place, Reload
//	budget_tensor  why one of them is there                   budget.Plan.Decision
//
// [Check] finds any byte of a log that was altered: the record does not come
// out the same, its hash does not fit, or the next record's parent does not.
// Only the last record of a log can be removed, or replaced by one that is
// true of other inputs, unnoticed, and only its wall clock can be changed.
package replay
