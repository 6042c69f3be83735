// Package benchtrain is the command that measures training whose state does
// not fit in memory.
//
//	bench train-offload   the same steps with their state in memory and in
//	                      files, in turns: seconds, overlap, bytes, wear
//
// It ends with exit code 3 when the two do not end with the same parameters.
package benchtrain
