// Package decide makes the decisions of a run that do not follow from its plan
// alone: what was learned about this machine, where kernels run, and how both are
// repeated from a log.
//
//	Trainer, Picker, Loop   what was fastest under which pressure: tables, recommendations
//	Learner                 follows them while a model runs
//	ChooseRoute, RouteGraph processor or device, and the moves that this takes
//	Recorder, CheckLog      every decision as a record of package record, and repeated
//
// # Learning
//
// A [Trainer] records how well the processor and the device performed under which
// memory pressure, recommends one of them, and explains why.
//
//	pressures ─▶ Bucket (device there?, band of VRAM, band of RAM)
//	episode ───▶ Trainer: Bucket × Backend → Stats {count, success, score, drift}
//	               │ Recommend           the backend of the higher value
//	               │ Snapshot            every row, for people and tests
//	               │ Explain, Factors, Narrative
//	               ▼
//	             Loop: one tick at a time, with a cooldown between switches
//	               │ autosave            a table that outlives the process
//	               ▼
//	             Policy: the same loop fed by measured latency, opt-in
//	knob settings ─▶ Picker: Bucket × model × class × Knob → Arms {count, mean seconds, lost}
//	               │ Pick.Decide         the fastest option; trials within an allowance
//	               │ Handle.Observe      how long an episode took
//
// The table of [Trainer] has the form of the seed, and does not change. The
// refined table of [picker] lies in a file beside it.
//
// A pressure falls into one of four bands:
//
//	band      0        1          2          3
//	from      0        0.50       0.75       0.90
//
// The value of a row is score/count − drift·penalty/count, each an integer
// division toward zero; the device is recommended if its value is strictly
// higher. The package reads no clock and no random source: the caller passes
// seconds and ticks, so that equal inputs give equal choices, texts and files,
// byte for byte.
//
// # Following
//
// A [Learner] lets a running model follow what was learned: before each step it
// sets what has several settings that give the same bits, and after it learns
// how long the step took.
//
//	OpenLearner ─▶ Learner the two tables are read
//	Weights ─▶             packed or mapped: asked once, when the model is opened
//	Begin ───▶             what runs, with what it may change
//	  Before ▶             threads of this step, readers of the ring
//	  After ─▶             the latency is counted; tables are saved now and then
//	Close ───▶             saves
//
// Each setting is a knob of [picker]; only one knob at a time makes a
// trial, so that what is measured has one cause. The seed's table and its loop
// ([Loop]) count the same steps as episodes of the processor. Decisions that
// change something are records of a [Recorder].
//
// Before and After take less than a microsecond and allocate nothing, except when
// a table is saved, pressure enters another band or a decision is recorded.
//
// # Routes
//
// [ChooseRoute] decides where a kernel of a model runs, processor or device, and
// [RouteTensors] moves its tensors there.
//
//	ChooseRoute   Kernel, tiers of its tensors, pressures ──▶ RouteChoice: target, reason,
//	           │                                         Trace of the rules tried
//	           ▼
//	Route, RouteTensors ──▶ prefetch, move, compute as a [lane.QueuedTask] each
//	           │
//	           ▼
//	lane.Submitter: a Timeline (lines of text), or lanes that execute
//
// The rules are one table in routechoice.go; the first rule
// that applies decides.
//
// # Routes of many kernels
//
// A [RouteGraph] is kernels in order with the tensors of each. [RouteGraph.Place] and
// [RouteGraph.PlaceLive] say where each would run, by given or by current tiers;
// [RouteGraph.Enqueue] routes them all. A [RouteLoop] does that again and again while its
// tensors move: in each tick, kernels pull tensors to where they run, and
// offloading evicts them under pressure. An engine calls [RouteLoop.Tick] between two
// steps of a model; its weights have an owner, which lends them to kernels (see
// [memory.Owner]), so that a kernel that streams moves nothing.
//
// # The backward pass
//
// [ExecuteBackward] visits the nodes of a forward pass in reverse order. For
// each, [backwardTarget] is the device only if the forward pass ran there and
// every gradient is declared to be in VRAM. [PrepareGradients] moves the
// gradients there or to RAM; if a move fails, the node degrades to the
// processor. Then backward:node<id> is submitted. The outcome is a timeline;
// [Recorder.ExecuteBackward] also returns, and records, a record of every move. Neither runs the
// tasks it submits.
//
// [PersistGradients] writes gradients to the persistent cache, [WarmGradients]
// restores those that are missing.
//
// # Replay
//
// [CheckLog] repeats recorded decisions with the functions that made them and
// reports every difference; [WhatIf] repeats them under another policy.
//
//	live      Recorder.Place, Plan, … ── decide ──▶ record.Draft ──▶ log
//	later     log ── inputs ── the same decide ──▶ the same line, byte for byte
//	what if   log ── inputs changed by a Policy ── decide ──▶ what differs
//
//	component      decides                                    function
//	placement      where a tensor belongs, by pressures       memory.Decide
//	offload        what to evict under memory pressure        memory.Offload.PlanWithTick
//	binding        where rules and a plan of bytes disagree   Bound.Decide
//	planner        where a kernel runs                        ChooseRoute
//	router         the same, after its tensors were moved     RouteChoice.After
//	graph          where the kernels of a step run            RouteGraph.Place
//	backward       where a backward pass runs                 backwardTarget
//	warm_start     what to do with a restored tensor          checkpoint.PlanWarmStart
//	trainer        which backend a bucket prefers             Trainer.Recommend
//	autoloop       the backend of the next tick               Turn.Decide
//	policy         the backend by measured latency            Measured.Decide
//	choice         the option of a knob                       Pick.Decide
//	budget         where every tensor of a model lives        place.Place, Reload
//	budget_tensor  why one of them is there                   place.Placement.Decision
//
// [CheckLog] detects a change to any byte of a log: the record replays differently,
// its hash does not match, or the next record's parent or the end mark does not.
// Undetectable is only a change to a record's wall clock, or one that makes all
// that follows anew.
package decide
