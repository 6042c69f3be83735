// Package machine measures what a machine does in a second, with no model of
// the user's: kernels beside the roofs of processor and memory, memory, storage,
// and the codecs of package blob.
//
//	Kernels   for every format        weights, activations, cached keys and values
//	            for every round       each kernel in turn, and the machine's roofs
//	          KernelReport            the medians, as shares of the nearer roof
//	Memory    read, copied and first touched, by one core and by all threads
//	Storage   large and small reads past the system's cache, and writes
//	Codecs    for every codec         ratio, and bytes per second of processor time
//	            tensors of a file, by element type, or made-up bfloat16 weights
//
//	RunOffload   steps of AdamW with parameters, moments and master weights in files,
//	             in turns with the same steps in memory: products of a stack of square
//	             layers are the computing that reads and writes can hide behind
//
//	Examine   whether the machine computes well: which kernels it uses, how fast,
//	          and that the embedded model has the same logits through others
//
// Kernels and roofs are measured in the same rounds, so that a temporarily slow
// machine affects both. The others are a [Report] of tests, each measured
// several times.
package machine
