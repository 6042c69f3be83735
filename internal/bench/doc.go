// Package bench measures: what a model does in a second, what a pass over its
// weights costs, what steps of training cost, and what kernels, memory, storage
// and codecs of this machine do.
//
//	Run        prefill and decode of an open model, with counters if wanted
//	Passes     each pass over the weights of an open model, one token each:
//	           seconds, bytes read, memory, overlap of reading and computing
//	Rates      how fast the files of a model and memory are read
//	Kernels    kernels beside the machine's roofs
//	TrainStep, TrainOffload   steps of training
//	Memory, Storage, Codecs   the machine
//
// Models are measured through their [engine.Engine], with given tokens instead
// of sampled ones. Speeds are medians over repeats after one warm-up.
package bench
