// Package digraph implements the algorithms on directed graphs that linking and
// scheduling use: strongly connected components, a cycle to report, depth,
// topological order. All take time linear in nodes and arcs, up to a logarithm.
//
//	0 ─▶ 1 ─▶ 2 ─▶ 3     Components  -1 0 0 -1
//	     ▲    │          Cycle       1 2
//	     └────┘          Depths      of a graph without cycles
package digraph
