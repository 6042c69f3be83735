// Package adapt lets a running model follow what was learned: before each step
// it sets what has several settings that give the same bits, and after it learns
// how long the step took.
//
//	Open ────▶ Learner     reads the two tables of package learn
//	Weights ─▶             packed or mapped: asked once, when the model is opened
//	Begin ───▶             what runs, with what it may change
//	  Before ▶             threads of this step, readers of the ring
//	  After ─▶             the latency is counted; tables are saved now and then
//	Close ───▶             saves
//
// Each setting is a knob of [learn.Picker]; only one knob at a time makes a
// trial, so that what is measured has one cause. The seed's table and its loop
// ([learn.Loop]) count the same steps as episodes of the processor. Decisions that
// change something are records of a [replay.Recorder].
//
// Before and After take less than a microsecond and allocate nothing, except when
// a table is saved, pressure enters another band or a decision is recorded.
package adapt
