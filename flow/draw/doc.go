// Package draw draws a linked graph as SVG.
//
//	layers            order                 positions
//	stage of a node   crossings are few:    joined nodes level,
//	                  means of neighbours   least squares, no overlap
//
//	┌──────────┐  2/1      ┌──────────┐
//	│ osc    ● ├──────────▶│ ●  down  │   a line for an edge: rate and what holds it
//	│ Saw · ×8 │  hold 192 │ 64 frames│   dashed: modulation; red, below: prefill
//	└──────────┘           └──────────┘
//
// A box says the node's type, its parameters, rate, delay, and its latency: how
// many base frames late what it gives out is, through the holds of its paths.
// Nodes of a cycle are tinted, and their edges carry the prefill as z to a
// negative power. A diamond on an edge is its gates.
//
// The layers are those of the linked graph; the rest is the usual order of work
// (Sugiyama, Tagawa and Toda, Methods for visual understanding of hierarchical
// system structures, 1981), and the same graph gives the same bytes.
package draw
