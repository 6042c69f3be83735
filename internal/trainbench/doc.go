// Package trainbench measures what it costs to train with parameters, moments
// and master weights in files.
//
//	passes   forward and backward products of a stack of square layers, on
//	         made-up activations: something to hide reading and writing behind
//	Run      steps in files and in memory in turns, on the same passes
//
// The passes are no model, and their gradients no descent; their sizes are a
// model's.
package trainbench
