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
package placement
