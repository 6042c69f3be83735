// Package step measures training steps: of a llama in memory, and with parameters,
// moments and master weights in files.
//
//	RunSteps     step   = forward + backward + update   medians of the measured steps
//	             forward includes recording for the backward pass
//	             floor  6·parameters·tokens, plus attention, at the rate of
//	                    multiply-adds measured by package roof
//
//	RunOffload   steps in files and in memory alternately, on the same passes:
//	             forward and backward products of a stack of square layers, on
//	             synthetic activations
//
// RunSteps executes the compiled plan on a tape, and AdamW. Its tokens are
// random, because the time does not depend on them. The passes of RunOffload have
// a model's sizes but compute nothing meaningful: they are the computation that
// I/O overlaps with.
package step
