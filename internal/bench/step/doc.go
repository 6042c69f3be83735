// Package stepbench measures training steps of a llama: the compiled plan on a
// tape, forward and backward, and AdamW.
//
//	step   = forward + backward + update      medians of the measured steps
//	forward        includes recording for the backward pass
//	floor          6·parameters·tokens, plus attention, at the rate of
//	               multiply-adds measured by package roof
//
// Tokens are random, because the time does not depend on them.
//
// # Trainbench
//
// Package trainbench measures the cost of training with parameters, moments and
// master weights in files.
//
//	passes   forward and backward products of a stack of square layers, on
//	         synthetic activations: computation to overlap I/O with
//	Run      steps in files and in memory alternately, on the same passes
//
// The passes have a model's sizes but compute nothing meaningful.
package step
