// Package benchstream is the command that measures a model larger than memory.
//
//	bench stream        for each ratio of model to memory, in turns:
//	  child (mapped)      the system decides what of the file is in memory
//	  child (budget)      a part stays, the rest is streamed
//
// Each child is a process of its own with a cold cache, in a control group of
// its own with so much memory where that is permitted. It ends with exit code 3
// when results differ or memory exceeds the budget.
package benchstream
