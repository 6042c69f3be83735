// Package sdf is synchronous data flow on plain lists of channels: actors that
// write and read fixed numbers of tokens a firing (Lee and Messerschmitt, Static
// scheduling of synchronous data flow programs for digital signal processing,
// 1987).
//
// [Balance] finds the smallest iteration, [Iterate] how much of it can run with
// given capacities and who blocks whom, [Capacities] what lets it run for ever.
//
//	CD to DAT     1:1     2:3     2:7    8:7    5:1
//	actors     0 ───▶ 1 ───▶ 2 ───▶ 3 ───▶ 4 ───▶ 5
//	firings   147    147    98     28     32    160
//	capacity       1      4      8     14      5       tokens
package sdf
