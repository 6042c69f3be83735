// Package exact holds sums with fully specified rounding, so that assembly can
// reproduce them bit for bit: multiply-adds rounded once, and lanes with a
// defined order of folding.
package exact
