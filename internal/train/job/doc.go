// Package job does what a recipe says: it makes the tokenizer, reads the data,
// makes or opens the model, trains it, and writes a folder that runs.
//
//	recipe ─▶ tokenizer ─▶ data ─▶ model ─▶ train.Run ─▶ folder
//	          text.go      data    model.go              config.json, model.safetensors,
//	                                                     tokenizer.json, tokenizer_config.json,
//	                                                     generation_config.json,
//	                                                     metrics.jsonl, loss.png
//
// The folder is made of parts that are there from the beginning (the tokenizer,
// the log, snapshots) and parts that are written at the end. A job that is
// killed at any moment and done again with Resume leaves the same folder.
package job
