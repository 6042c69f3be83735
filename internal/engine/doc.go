// Package engine turns the files of a model into something that serves
// requests. The root package wraps it for users; package bench measures it.
//
//	OpenFiles ──▶ modelfile.Description   headers and mapped bytes
//	Compile   ──▶ Plan                    programs for prefill and decode, from headers alone
//	Plan.Place ─▶ budget.Plan             where each tensor lives within a budget
//	Open      ──▶ Engine                  places, brings the weights there, starts
//	                                      executor and scheduler
//
// A weight takes this path once. It is placed first and materialized
// afterwards: mapped as the file has it or as its recipe makes it, or, where a
// budget leaves some on the disk, by package residence. Nothing that asks where
// a weight belongs changes the configuration.
//
// # Placement
//
// Package placement asks the planner of package budget where the tensors of a
// compiled model should live.
//
//	compile.Model, file headers ──Describe──▶ Model: weights, files, types
//	Model, Config               ──Input────▶ budget.Input
//	                                          weights   order, units, bytes
//	                                          caches    by context and sequences
//	                                          buffers   as an executor takes them
//	                                          rates     asked, measured, kept, assumed
//	Model, Config               ──Place────▶ budget.Plan, or what a plan file says
//
// No weight is read: headers say all of it. An executor is bound to weights
// without bytes to learn what buffers it takes.
package engine
