// Package sdf analyses synchronous data flow: actors that write and read a
// fixed number of tokens per firing, joined by plain lists of channels (Lee and
// Messerschmitt, Static scheduling of synchronous data flow programs for
// digital signal processing, 1987).
//
// [Balance] finds the smallest iteration, [Iterate] how far it gets with given
// capacities and which actors block each other, [Capacities] channel sizes with
// which it can run forever.
//
//	CD to DAT     1:1     2:3     2:7    8:7    5:1
//	actors     0 ───▶ 1 ───▶ 2 ───▶ 3 ───▶ 4 ───▶ 5
//	firings   147    147    98     28     32    160
//	capacity       1      4      8     14      5       tokens
package sdf
