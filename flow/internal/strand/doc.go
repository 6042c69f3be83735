// Package strand divides a list of calls, of which later ones may need earlier
// ones, among threads.
//
//	tasks by level     stretch 1            stretch 2
//	                   strand a  a1─a3─a5   a6─a7
//	a1 … a7  ──Cut──▶  strand b  a2─a4
//	                   └ side by side ┘     └ one thread ┘
//
// Levels are joined to a stretch as long as there remain strands that do not
// meet, so threads wait for each other once a stretch and not once a level.
// What is cut where follows from the tasks' costs, which are figures of the
// plan and not times: the same plan is always cut alike.
package strand
