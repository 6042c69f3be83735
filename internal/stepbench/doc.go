// Package stepbench measures training steps of a llama: the compiled plan on a
// tape, forward and backward, and AdamW.
//
//	step   = forward + backward + update      medians of the measured steps
//	forward        includes recording for the backward pass
//	floor          6·parameters·tokens, plus attention, at the rate of
//	               multiply-adds measured by package roof
//
// Tokens are random, because the time does not depend on them.
package stepbench
