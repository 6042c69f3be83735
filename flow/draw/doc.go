// Package draw draws a linked graph as SVG.
//
//	layers            order                 positions
//	stage of a node   few crossings:        joined nodes level,
//	                  means of neighbours   least squares, no overlap
//
//	┌──────────┐  2/1      ┌──────────┐
//	│ osc    ● ├──────────▶│ ●  down  │   a line for an edge: rate and what holds it
//	│ Saw · ×8 │  hold 192 │ 64 frames│   dashed: modulation; red, below: prefill
//	└──────────┘           └──────────┘
//
// A box shows the node's type, parameters, rate, declared delay and latency: by
// how many base frames the holds on its paths delay its output. Nodes of a
// cycle are tinted, and their edges carry the prefill as a negative power of z.
// A diamond on an edge marks its gates.
//
// The layers are the stages of the linked graph; the rest is the usual layered
// layout (Sugiyama, Tagawa and Toda, Methods for visual understanding of
// hierarchical system structures, 1981). The same graph gives the same bytes.
package draw
