// Package bench measures a model, and a server: what a model does in a second, what
// a pass over its weights costs, how fast its files are read, and what clients of a
// server see. Package machine measures the machine without a model,
// package tower images.
//
//	Run      prefill and decode of an open model, with counters if wanted
//	Passes   one pass after another over the weights of an open model: seconds,
//	         bytes read, memory, and overlap of reading and computing
//	Rates    how fast the files of a model and memory are read
//
// Models are measured through their [engine.Engine], with tokens that are given
// instead of chosen. Speeds are medians over repeats after one warm-up.
//
// # Servers
//
// [Load] drives any server of OpenAI's API with many streams of completions at
// once and measures what its clients see: loadrequest.go has one request. Which
// prompts are sent, and which requests are cancelled or read slowly, follows from
// the seed.
//
// # Other programs
//
// A [Peer] is a program that benchmarks the same model, alternately with this one:
// [ParsePeer] reads "[NAME=]PROGRAM [ARGS]", [Peer.Run] runs one round of a
// [PeerTest]. Programs take the options and print the JSON of llama-bench, in any
// of several versions, or print the table of llama-batched-bench. Their output is
// untrusted: it is bounded, and the parsers are fuzzed. [StartNeighbours] starts
// processes that compete for the processors.
package bench
