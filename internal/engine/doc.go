// Package engine turns the files of a model into something that serves
// requests. The root package wraps it for users; package bench measures it.
//
//	OpenFiles ──▶ file.Description   headers and mapped bytes
//	Compile   ──▶ Plan               programs for prefill and decode, from headers alone
//	Plan.Place ─▶ place.Placement    where each tensor lives within a budget
//	Open      ──▶ Engine             places, brings the weights there, starts
//	                                 executor and scheduler
//
// # The way of a weight
//
// A weight enters eight packages on its way from the disk to a product, and none
// of them twice:
//
//	internal/model/file         a tensor of a mapped file
//	internal/model/compile      a weight of the plan: which tensors make it, by which recipe
//	internal/engine             asks the next two, and gives the answer of one to the other
//	internal/memory/place       decides by sizes alone: memory, or read by each pass
//	internal/engine/residence   materializes it there, once, by its recipe
//	internal/memory/ring        reads it, ahead of its use, if it is streamed; or
//	internal/memory/ring     reads it when tokens choose it, if it is of an expert; or else
//	internal/memory/pack        keeps it in the order in which kernels read
//	internal/exec               binds it to the products that use it
//	internal/kernel             multiplies with it
//
// Ring, experts and pack stand side by side: what is streamed is not
// packed. Nothing that asks where a weight belongs reads one or changes the
// configuration it is asked with. A test of package lint holds this list to the imports and the calls.
//
// # Placement
//
// A [footprint] is what a compiled model takes: its weights by their headers, and
// the caches and buffers of an executor that is bound to weights without bytes. A
// [PlaceConfig] is what the user and the machine add to it.
//
//	compile.Model, file headers ──▶ Footprint     weights, files, types
//	Footprint, PlaceConfig      ──▶ place.Input   tensors   weights in order, caches, buffers
//	                                              bounds    budgets, reserves, pins
//	                                              rates     asked, measured, kept, assumed
//	Footprint, PlaceConfig      ──▶ place.Placement, or what a plan file says
package engine
