// Package cli is the command line: one file per command, each a thin layer
// over the public API of package atenia.
//
// Results go to standard output and nothing else does; progress goes to
// standard error, and only to a terminal. Every command has --json. Exit codes
// are 0 for success, 1 for failure, 2 for bad usage, 3 for a failed
// verification, and 128 and the signal's number after Ctrl-C or SIGTERM. MODEL
// is a .gguf file, a Hugging Face folder, or the embedded model, which is the
// default.
//
// Read cli.go first.
//
// # Benchstream
//
// Package benchstream is the command that measures a model larger than memory.
//
//	bench stream        for each ratio of model to memory, in turns:
//	  child (mapped)      the system decides what of the file is in memory
//	  child (budget)      a part stays, the rest is streamed
//
// Each child is a process of its own with a cold cache, in a control group of
// its own with so much memory where that is permitted. It ends with exit code 3
// when results differ or memory exceeds the budget.
//
// # Benchtrain
//
// Package benchtrain is the commands that measure training, in memory and with
// a state that does not fit in it.
//
//	bench train           steps of a llama: forward, back, optimizer, memory
//	bench train-offload   the same steps with their state in memory and in
//	                      files, in turns: seconds, overlap, bytes, wear
//
// The latter ends with exit code 3 when its two runs do not end with the same parameters.
//
// # Cache
//
// Package cache is the commands for a folder with a persistent cache.
//
//	atenia cache ls       what is in it
//	atenia cache verify   whether it is what was put there
//	atenia cache gc       less of it
//
// # Checkpoint
//
// Package checkpoint is the command that works on the folders of checkpoints.
//
//	save MODEL DIR   tensors of a model, or of a cache
//	inspect DIR      what was where, drift on this machine, the warm start
//	verify DIR       every byte against every sum
//	restore DIR      as a program would, eagerly or lazily
//	gc DIR           entries of the cache that no checkpoint names
//
// # Editor
//
// Package editor reads the lines a person types: with editing, history and
// pastes from a terminal, plainly from anything else.
//
//	terminal ─▶ keys (Ctrl-C and pastes become text) ─▶ x/term's editor ─▶ Reader.Read
//
// # Explain
//
// Package explain is the command that says which backend was preferred under
// which pressure of memory, and why.
//
//	--gpu-available --vram-band --ram-band   one bucket, all three needed
//	--all                                    every bucket of the file
//	(nothing), --structured, --json          narrative, factors, both for programs
//
// Unlike other commands it ends with exit code 1 when it was called wrongly.
//
// # Hardware
//
// Package hardware is the commands about the machine itself.
//
//	atenia hw          what there is, how full it is, what will be slow
//	atenia bench mem   memory read, copied and touched for the first time
//	atenia bench ssd   storage read and written past the system's cache
//	atenia bench codec tensors encoded and decoded
//
// What bench prints with --json is what its --compare reads.
//
// # Placing
//
// Package placing has the flags of a model's placement in memory, and prints
// one: the table of tiers, what a pass costs, and why a tensor is where it is.
//
// # Replay
//
// Package replay is the command that makes recorded decisions again.
//
//	atenia replay LOG               byte for byte; exit 3 if anything differs
//	atenia replay LOG --policy P    what another policy would have decided
//
// # Tokenizer
//
// Package tokenizer is the command "atenia tokenizer", which makes tokenizers.
//
//	train   texts → tokenizer.json
//
// # Train
//
// Package train is the commands "atenia train" and "atenia finetune".
//
//	standard output   evaluations and the result, as text or JSON
//	terminal          a line that moves: step, loss, tokens a second, time left
//	exit              0 done, 1 failed or stopped by Ctrl-C with a snapshot, 2 the configuration is wrong
package cli
