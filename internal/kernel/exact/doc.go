// Package exact holds sums whose every rounding is defined, so that assembly
// can yield the same bits: multiply-adds rounded once, and lanes with the order
// in which they are folded.
package exact
