// Package bench measures a model: what it does in a second, what a pass over its
// weights costs, and how fast its files are read. Package machine measures the
// machine without a model, package step steps of training.
//
//	Run      prefill and decode of an open model, with counters if wanted
//	Passes   one pass after another over the weights of an open model: seconds,
//	         bytes read, memory, and overlap of reading and computing
//	Images   how fast a model reads images, without its decoder
//	Rates    how fast the files of a model and memory are read
//
// Models are measured through their [engine.Engine], with tokens that are given
// instead of chosen. Speeds are medians over repeats after one warm-up.
package bench
