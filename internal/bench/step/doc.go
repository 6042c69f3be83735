// Package step measures steps of training.
//
//	RunSteps     a llama: the compiled plan on a tape, forward and backward, and AdamW
//	RunBudget    a llama trained within a budget of memory: what a step waits for
//	RunOffload   the same update with parameters, moments and master weights in
//	             files, beside steps in memory, in turns
//
// A step of RunSteps is the sum of three medians, forward (which includes
// recording), backward and update. Its floor is 6·parameters·tokens, plus
// attention, at the rate of multiply-adds that package roof measured. Tokens are
// random, because the time does not depend on them.
//
// RunOffload has no model. Products of a stack of square layers, forward and
// backward, are the computing that reads and writes can hide behind; they have a
// model's sizes and compute nothing meaningful.
package step
