// Package benchtrain is the commands that measure training, in memory and with
// a state that does not fit in it.
//
//	bench train           steps of a llama: forward, back, optimizer, memory
//	bench train-offload   the same steps with their state in memory and in
//	                      files, in turns: seconds, overlap, bytes, wear
//
// The latter ends with exit code 3 when its two runs do not end with the same parameters.
package benchtrain
