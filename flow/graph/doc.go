// Package graph parses the plan of a dataflow graph and derives everything that
// does not depend on data: ports, rates, delays, shapes, firing order,
// deadlocks.
//
// A node is a deterministic process with private state. It communicates only
// through channels, FIFOs with one writer and any number of readers with
// blocking reads. The frames on every channel therefore follow from the inputs
// alone (Kahn, The semantics of a simple language for parallel programming,
// 1974), and this package may fix an order of firing without changing any
// result.
//
//	text ──Parse──▶ Plan ──Link(Catalog)──▶ Linked ──▶ executors
//	  ◀──Encode───┘
//
//	Plan    nodes, edges, gates as written, defaults filled in
//	Linked  the same with indices: edge i leads from output p of node s to
//	        input q of node d, or modulates a parameter of d
//
// Node types are defined elsewhere: a [Catalog] describes them, and Link asks
// it for the [Spec] of each node.
//
// # Delay
//
// An edge has two delays, counted in frames at its own rate. A hold withholds
// frames and changes no value: the reader is late, and joins line up by
// waiting. A prefill inserts zeros before the first frame: z^−π. The delay of
// an edge in a cycle is a prefill, any other a hold, unless the plan says
// otherwise.
//
//	produced P ──▶ ┌ 0 … 0 ┬ frames ───────────┬ held back ┐ ──▶ consumed C
//	               └── π ──┴─── max(0, P − h) ─┴───── h ───┘
//
// # Errors
//
// Every error is an [Error] with a [Code], the JSON path and the nodes
// involved.
package graph
