// Package digraph answers the questions that linking and scheduling ask of
// directed graphs: which nodes are in cycles together, a cycle to show, how deep
// a node lies, an order. All take time in proportion to nodes and arcs, or that
// times its logarithm.
//
//	0 ─▶ 1 ─▶ 2 ─▶ 3     Components  -1 0 0 -1
//	     ▲    │          Cycle       1 2
//	     └────┘          Depths      of a graph without cycles
package digraph
