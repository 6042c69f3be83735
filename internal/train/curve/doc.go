// Package curve plots a declining number: as a PNG, or in braille dots for a
// terminal.
//
//	Line ─┬─▶ PNG    axes, grid, a legend; the thin line is each step, the thick
//	      │          one its running mean
//	      └─▶ Text   ⠈⠢⣀⠀⠀     2 × 4 dots a character
//	                 ⠀⠀⠀⠑⠤
//
// It draws everything itself, including letters: a plotting library would add 8
// MB to a program of 40, for one picture of two lines.
package curve
