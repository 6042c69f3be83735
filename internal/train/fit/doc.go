// Package fit decides what of a training run is in memory: from the sizes of the
// model, of its batches and of the budget, before anything large is taken.
//
//	all of it          parameters, gradients, moments and values of the forward pass
//	in files           parameters, moments: read and written block by block
//	as room is left    gradients, which else go to the disk and back;
//	                   values of layers, which else are computed twice
//
// Which of the last two gets room first follows from what a step would wait for:
// the disk, or the processor. [decide] is arithmetic alone, so that the same sizes
// give the same [plan] on every machine; no choice changes a bit of the result.
// Below the memory of the largest block, of which nothing can be left out, there
// is no plan but a [FloorError].
//
// # Jobs
//
// [Run] executes a recipe: it makes the tokenizer, reads the data, creates
// or opens the model, trains it, and writes a model folder.
//
//	recipe ─▶ tokenizer ─▶ data ─▶ model ─▶ train.Run ─▶ folder
//	          text.go      data    jobmodel.go             config.json, model.safetensors,
//	                                                     tokenizer.json, tokenizer_config.json,
//	                                                     generation_config.json,
//	                                                     metrics.jsonl, loss.png
//
// A [Model] is the plan that inference runs, of a folder or of a configuration with new
// parameters, recorded on a tape:
//
//	config.json ─ compile ─▶ plan ─ record ─▶ tape ─▶ loss, gradients
//	model.safetensors ─▶ parameters ─────────▲  │
//	or Init: normal, by seed                 └──┘ stepped by package train
//
// It exports a standard model folder. An [adapted] one trains the low-rank pairs of an
// adapter instead and exports these.
//
// Some files are written at the start (the tokenizer) or during the run (the
// log, snapshots), the others at the end. A job that is killed at any moment and
// run again with Resume leaves the same folder.
package fit
