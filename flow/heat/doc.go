// Package heat sums the reports of a dataflow graph's nodes: joules, calls,
// time, delays.
//
//	Meter    updated by calls: no allocation, no lock, one thread per node
//	Metrics  the totals as a value with text
//
//	node ──Add(joules)──▶ Meter ──Report──▶ Metrics ──String──▶ a table
//
// Heat is joules per call, summed separately for forward and backward calls. A
// report that is not finite is left out of the sums and counted.
package heat
