// Package cli is the command line: one file per command, each a thin layer
// over the public API of package atenia.
//
//	arguments ─▶ Main (cli.go) ─▶ tree of commands ─▶ one command ─▶ exit code
//	                              complete.go, man.go read the same tree
//
// Results go to standard output and nothing else does; progress goes to
// standard error, and only to a terminal. Every command has --json. Exit codes
// are 0 for success, 1 for failure, 2 for bad usage, 3 for a failed
// verification, and 128 and the signal's number after Ctrl-C or SIGTERM. MODEL
// is a .gguf file, a Hugging Face folder, or the embedded model, which is the
// default. Only explain differs: bad usage of it is exit code 1.
//
//	run, chat            run.go chat.go;  model.go, sampling.go, placing.go have the
//	                     flags they share, lines.go reads lines with editing and history
//	plan, inspect        plan.go inspect.go logits.go tokenize.go
//	quantize             quantize.go
//	train, finetune      train.go finetune.go: evaluations and the result on standard
//	                     output, progress on the terminal
//	tokenizer            tokenizer.go trains a vocabulary: texts → tokenizer.json
//	grammar              grammar.go: what of a schema can be enforced
//	bench                bench.go and bench*.go, hardware*.go, *result.go
//	hw, doctor           hw.go doctor.go: the machine, what limits it, and whether it
//	                     computes well
//	cache, checkpoint    cache.go checkpoint.go: list, verify, collect, save, restore
//	explain, replay      explain.go replay.go: why a backend was preferred; recorded
//	                     decisions again, byte for byte, or under another policy
//	flow                 package cli/flow
//
// bench stream measures a model larger than memory: each measurement is a
// process of its own (benchstreamchild.go) with a cold page cache, in a control group with
// limited memory where that is permitted. bench stream and bench train-offload
// end with exit code 3 when results differ between their runs.
//
// Read cli.go first.
package cli
