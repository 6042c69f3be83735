// Package peer runs other programs that benchmark the same model, alternately
// with this one.
//
//	Parse   "[NAME=]PROGRAM [ARGS]" → Peer
//	Run     one round of a Test     → Entries, or an Error that quotes the program
//
// Programs take the options and print the JSON of llama-bench, in any of several
// versions, or print the table of llama-batched-bench. Their output is
// untrusted: it is bounded, and the parsers are fuzzed. [StartNeighbours] starts
// processes that compete for the processors.
package peer
