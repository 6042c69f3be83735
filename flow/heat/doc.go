// Package heat sums what nodes of a dataflow graph report: joules, calls, time,
// delays.
//
//	Meter    what calls add to: no allocation, no lock, one thread a node
//	Metrics  the totals as a value with text
//
//	node ──Add(joules)──▶ Meter ──Report──▶ Metrics ──String──▶ a table
//
// Heat is a number of joules a call, forward and backward apart. A report that
// is no finite number is left out and counted.
package heat
