// Package recipe reads the file that says what is trained, on what, and how.
//
//	[model]       architecture and sizes, or the folder to go on from
//	[memory]      what is nested in a model whose memory learns
//	[lora]        low-rank pairs to train in place of its parameters
//	[tokenizer]   how text becomes tokens
//	[data]        files, rows, batches, what is held out
//	[optimizer]   the rule and its numbers
//	[schedule]    how the learning rate rises and falls
//	[train]       steps, evaluations, snapshots, the folder of results
//
// The file is TOML (toml.io, version 1.0). A [Recipe] is a struct whose tags
// are the keys and their help: what is decoded, what the help prints ([Keys])
// and what is suggested for a key that does not exist are one table.
//
// A key that is absent means its default. A key that is unknown is an error
// that names the nearest one, for a setting that is silently not used costs a
// night. Paths are relative to the file.
package recipe
