// Package curve draws how a number fell: as a PNG, or in dots of braille for a
// terminal.
//
//	Line ─┬─▶ PNG    axes, grid, a legend; the thin line is each step, the thick
//	      │          one its running mean
//	      └─▶ Text   ⠈⠢⣀⠀⠀     2 × 4 dots a character
//	                 ⠀⠀⠀⠑⠤
//
// It draws itself, letters included: a plotting library would add 8 MB to a
// program of 40, for one picture of two lines.
package curve
