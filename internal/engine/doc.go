// Package engine turns the files of a model into something that serves
// requests. The root package wraps it for users; package bench measures it.
//
//	OpenFiles ──▶ file.Description   headers and mapped bytes
//	Compile   ──▶ Plan               programs for prefill and decode, from headers alone
//	Plan.Place ─▶ place.Placement    where each tensor lives within a budget
//	Open      ──▶ Engine             places, brings the weights there, starts
//	                                 executor and scheduler
//
// A weight takes this path once. It is placed first and materialized
// afterwards: mapped as the file has it or as its recipe makes it, or, where a
// budget leaves some on the SSD, by package residence. No question about a
// placement changes the configuration.
//
// # Placement
//
// [Plan.Place] describes the model to the planner of package place, or reads a
// placement from a file:
//
//	weights   in the order of first use, grouped in units, with their bytes
//	caches    by context and sequences
//	buffers   as an executor takes them
//	rates     configured, measured, cached or assumed
//
// No weight is read: headers contain everything needed. An executor is bound to
// weights without bytes to learn the sizes of its buffers.
package engine
