// Package stepbench measures steps of training a llama: the compiled plan on a
// tape, forward and back, and AdamW.
//
//	step   = forward + backward + update      medians of the measured steps
//	forward        records what the way back needs
//	floor          6·parameters·tokens, and what attention adds, at the rate
//	               of multiply-adds that package roof measures
//
// Tokens are drawn at random, since the time does not depend on them.
package stepbench
