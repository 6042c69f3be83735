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
package cli
