// Package replay repeats recorded decisions with the functions that made them
// and reports every difference.
//
//	live      Recorder.Place, Plan, … ── decide ──▶ record.Draft ──▶ log
//	later     log ── inputs ── the same decide ──▶ the same line, byte for byte
//	what if   log ── inputs changed by a Policy ── decide ──▶ what differs
//
//	component      decides                                    function
//	placement      where a tensor belongs, by pressures       memory.Decide
//	offload        what to evict under memory pressure        memory.Offload.PlanWithTick
//	planner        where a kernel runs                        route.Choose
//	router         the same, after its tensors were moved     route.Choice.After
//	graph          where the kernels of a step run            route.Graph.Place
//	backward       where a backward pass runs                 route.BackwardTarget
//	warm_start     what to do with a restored tensor          checkpoint.PlanWarmStart
//	trainer        which backend a bucket prefers             learn.Trainer.Recommend
//	autoloop       the backend of the next tick               learn.Turn.Decide
//	policy         the backend by measured latency            learn.Measured.Decide
//	choice         the option of a knob                       learn.Pick.Decide
//	budget         where every tensor of a model lives        place.Place, Reload
//	budget_tensor  why one of them is there                   place.Placement.Decision
//
// [Check] detects a change to any byte of a log: the record replays differently,
// its hash does not match, or the next record's parent or the end mark does not.
// Undetectable is only a change to a record's wall clock, or one that makes all
// that follows anew.
package replay
