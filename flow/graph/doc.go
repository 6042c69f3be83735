// Package graph parses the plan of a dataflow graph and derives everything that
// does not depend on data: ports, rates, delays, shapes, firing order,
// deadlocks, channel capacities.
//
// A node is a deterministic process with private state. It communicates only
// through channels, FIFOs with one writer and any number of readers with
// blocking reads. The frames on every channel therefore follow from the inputs
// alone (Kahn, The semantics of a simple language for parallel programming,
// 1974), and this package may fix an order of firing without changing any
// result.
//
//	text ──Parse──▶ Plan ──Link(Catalog)──▶ Linked ──▶ package flow runs it
//	  ◀──Encode───┘                           └──NewSchedule──▶ Schedule ──▶ text
//
//	Plan           nodes, edges, gates as written, defaults filled in
//	Linked         the same with indices: edge i leads from output p of node s to
//	               input q of node d, or modulates a parameter of d
//	Schedule       order, calls of a block, channel capacities, lateness
//
// Node types are defined elsewhere: a [Catalog] describes them, and [Link] asks
// it for the [Spec] of each node. A plan has two text forms, JSON ([Parse],
// [Plan.Encode]) and one line for each node, edge and gate ([ParseText],
// [Plan.String]). Every error is an [Error] with a [Code], the JSON path and the
// nodes involved.
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
// # Rates and capacities
//
// A node takes and gives a fixed number of frames per token (Lee and
// Messerschmitt, Static scheduling of synchronous data flow programs for
// digital signal processing, 1987). For nodes and channels given as plain lists,
// [Balance] finds the smallest iteration, [Iterate] how far it gets with given
// capacities and which nodes block each other, [Capacities] channel sizes with
// which it can run forever.
//
//	CD to DAT     1:1     2:3     2:7    8:7    5:1
//	nodes      0 ───▶ 1 ───▶ 2 ───▶ 3 ───▶ 4 ───▶ 5
//	firings   147    147    98     28     32    160
//	capacity       1      4      8     14      5       tokens
//
// # Schedule
//
// A plan runs block by block. At first, holds keep nodes back; from some block
// on every node fires all of its tokens in every block, and the calls repeat.
// [NewSchedule] rehearses the plan by counts alone, finds that block, and how
// many frames each channel must hold.
//
//	block      0     1     2     3          x ──hold 100──▶ o, blocks of 64
//	x fires   64    64    64    64          warm-up 2, o first in block 2
//	o fires    –     –    64    64          capacity 192: 100 held, in blocks
//
// Two capacities are given: the one with which a single pass per block in
// visiting order never blocks on a full channel, and the least with which
// blocks still complete if writers wait (backpressure).
//
// # Files
//
//	parse.go, text_parse.go  plans from JSON and from text; encode.go and text.go write them
//	link.go                  from names to indices, with rates.go, delays.go, shapes.go, order.go
//	sdf.go                   rates and capacities of plain lists of channels
//	schedule.go              the rehearsal; scheduletext.go its text
//	digraph.go               cycles, depths and topological order, in linear time
//	jsontext.go              JSON with the position of every value
package graph
