// Package stream decides where a kernel runs and submits the tasks that bring
// its tensors there.
//
//	Kernel, tiers of its tensors, pressures
//	        │
//	        ▼
//	   MakePlan ──▶ Plan: target, reason, Trace of the rules that were tried
//	        │
//	        ▼
//	Route, RouteTensors ──▶ prefetch, move, compute as a [timeline.Task] each
//	        │
//	        ▼
//	   timeline.Submitter: a Timeline (lines of text), or lanes that execute
//
// The rules are one table in plan.go; the first that applies wins, and the trace
// lists every rule up to it.
//
// plan.go is the file to read first.
package stream
