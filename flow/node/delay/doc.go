// Package delay holds the delay line, fixed or moving, whole frames or between
// frames.
//
//	         n − delay           n
//	── ○ ── ○ ─┴─ ○ ── ○ ── ○ ── ●      none      the frame before the place
//	   └────┴─────┴────┘                linear    a line through two frames
//	     weights by place               lagrange  a cubic through four
//
// A line is a ring that holds no more than the longest delay and one call. A
// constant delay moves runs of frames; a moving one is looked up frame by frame.
package delay
