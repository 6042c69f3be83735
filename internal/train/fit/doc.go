// Package fit decides what of a training run is in memory: from the sizes of the
// model, of its batches and of the budget, before anything large is taken.
//
//	all of it          parameters, gradients, moments and values of the forward pass
//	in files           parameters, moments: read and written block by block
//	as room is left    gradients, which else go to the disk and back;
//	                   values of layers, which else are computed twice
//
// Which of the last two gets room first follows from what a step would wait for:
// the disk, or the processor. [Decide] is arithmetic alone, so that the same sizes
// give the same [Plan] on every machine; no choice changes a bit of the result.
// Below the memory of the largest block, of which nothing can be left out, there
// is no plan but a [FloorError].
package fit
