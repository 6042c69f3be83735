// Package delay holds the delay line: fixed or modulated, integer or
// fractional.
//
//	         n − delay           n
//	── ○ ── ○ ─┴─ ○ ── ○ ── ○ ── ●      none      the frame before the place
//	   └────┴─────┴────┘                linear    a line through two frames
//	     weights by place               lagrange  a cubic through four
//
// A line is a ring that holds the longest delay and one call. A constant delay
// copies runs of frames; a modulated one is computed frame by frame.
package delay
