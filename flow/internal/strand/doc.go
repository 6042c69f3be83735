// Package strand partitions a list of calls with dependencies among threads.
//
//	tasks by level     section 1            section 2
//	                   strand a  a1─a3─a5   a6─a7
//	a1 … a7  ──Cut──▶  strand b  a2─a4
//	                   └ in parallel ──┘    └ one thread ┘
//
// A strand is a sequence of calls for one thread; strands of a section do not
// depend on each other. Levels are merged into a section as long as independent
// strands remain, so threads synchronize once per section instead of once per
// level. The cut follows from the tasks' costs, which are computed from the
// plan and not measured: the same plan is always cut alike.
package strand
