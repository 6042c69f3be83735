// Package job executes a recipe: it makes the tokenizer, reads the data, creates
// or opens the model, trains it, and writes a model folder.
//
//	recipe ─▶ tokenizer ─▶ data ─▶ model ─▶ train.Run ─▶ folder
//	          text.go      data    model.go              config.json, model.safetensors,
//	                                                     tokenizer.json, tokenizer_config.json,
//	                                                     generation_config.json,
//	                                                     metrics.jsonl, loss.png
//
// Some files are written at the start (the tokenizer) or during the run (the
// log, snapshots), the others at the end. A job that is killed at any moment and
// run again with Resume leaves the same folder.
package job
