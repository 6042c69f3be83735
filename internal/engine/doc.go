// Package engine turns the files of a model into something that serves
// requests. The root package wraps it for users; package bench measures it.
//
//	OpenFiles ──▶ modelfile.Description   headers and mapped bytes
//	Compile   ──▶ Plan                    programs for prefill and decode, from headers alone
//	Plan.Place ─▶ budget.Plan             where each tensor lives within a budget
//	Open      ──▶ Engine                  places, brings the weights there, starts
//	                                      executor and scheduler
//
// A weight takes this path once. It is placed first and materialised
// afterwards: mapped as the file has it or as its recipe makes it, or, where a
// budget leaves some on the disk, by package residence. Nothing that asks where
// a weight belongs changes the configuration.
package engine
