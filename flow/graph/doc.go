// Package graph reads a plan of a dataflow graph and finds out everything about
// it that needs no data: ports, rates, delays, shapes, order, deadlocks.
//
// A node is a deterministic process with private state; it talks only through
// channels, first in, first out, of one writer and any number of readers that
// wait. So what flows on every channel follows from the inputs alone (Kahn,
// The semantics of a simple language for parallel programming, 1974), and this
// package may fix an order of firing without changing any result.
//
//	text ──Parse──▶ Plan ──Link(Catalog)──▶ Linked ──▶ executors
//	  ◀──Encode───┘
//
//	Plan    nodes, edges, gates as written, defaults filled in
//	Linked  the same with indices: edge i leads from output p of node s to
//	        input q of node d, or modulates a parameter of d
//
// The types of nodes are not here: a [Catalog] describes them, and Link asks it
// for a [Spec] of each node.
//
// # Delay
//
// An edge has two delays, counted in frames at its own rate. A hold keeps
// frames back and changes no value: the reader is late, and joins line up by
// waiting. A prefill puts zeros before the first frame: z^−π. A delay of an edge
// in a cycle is a prefill, any other a hold, unless the plan says otherwise.
//
//	produced P ──▶ ┌ 0 … 0 ┬ frames ───────────┬ held back ┐ ──▶ consumed C
//	               └── π ──┴─── max(0, P − h) ─┴───── h ───┘
//
// # Faults
//
// Every fault is an [Error] with a [Code], the JSON path and the nodes involved.
package graph
