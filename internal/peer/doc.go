// Package peer runs other programs that measure the same model, so that they
// can have their turns with this one.
//
//	Parse   "[NAME=]PROGRAM [ARGS]" → Peer
//	Run     one round of a Test     → Entries, or an Error that quotes the program
//
// Programs take the options and print the JSON of llama-bench, of which there
// are several versions, or print the table of llama-batched-bench. What they
// print is not trusted: it is bounded, and fuzzed. [StartNeighbours] keeps
// processors busy with processes that measure nothing.
package peer
