// Package recipe reads the configuration file of a training run.
//
//	[model]       architecture and sizes, or the folder to continue from
//	[memory]      what is nested in a model whose memory learns
//	[lora]        low-rank pairs to train in place of its parameters
//	[tokenizer]   how text becomes tokens
//	[data]        files, rows, batches, held-out share
//	[optimizer]   the rule and its hyperparameters
//	[schedule]    the course of the learning rate
//	[train]       steps, evaluations, snapshots, the folder of results
//
// The file is TOML (toml.io, version 1.0). A [Recipe] is a struct whose tags are
// the keys and their help, so that decoding, the help text ([keys]) and the
// suggestions for unknown keys share one table.
//
// What the rooms of a run are configured with follows from a recipe alone:
// [Optimizer.Rule], [Recipe.Rates], [Recipe.Adapter] and [Recipe.Nested].
//
// A missing key has its default. An unknown key is an error that names the
// nearest known one, because a silently ignored setting can waste a night of
// training. Paths are relative to the file.
package recipe
