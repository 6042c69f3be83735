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
//
// # Sdf
//
// Package sdf analyses synchronous data flow: actors that write and read a
// fixed number of tokens per firing, joined by plain lists of channels (Lee and
// Messerschmitt, Static scheduling of synchronous data flow programs for
// digital signal processing, 1987).
//
// [Balance] finds the smallest iteration, [Iterate] how far it gets with given
// capacities and which actors block each other, [Capacities] channel sizes with
// which it can run forever.
//
//	CD to DAT     1:1     2:3     2:7    8:7    5:1
//	actors     0 ───▶ 1 ───▶ 2 ───▶ 3 ───▶ 4 ───▶ 5
//	firings   147    147    98     28     32    160
//	capacity       1      4      8     14      5       tokens
//
// # Schedule
//
// Package schedule rehearses a linked plan by counts alone and tabulates the
// result: order, calls of a block, channel capacities, lateness.
//
// A plan runs block by block. At first, holds keep nodes back; from some block
// on every node fires all of its tokens in every block, and the calls repeat.
// [Of] finds that block, and how many frames each channel must hold.
//
//	block      0     1     2     3          x ──hold 100──▶ o, blocks of 64
//	x fires   64    64    64    64          warm-up 2, o first in block 2
//	o fires    –     –    64    64          capacity 192: 100 held, in blocks
//
// Two capacities are given: the one with which a single pass per block in
// visiting order never blocks on a full channel, and the least with which
// blocks still complete if writers wait (backpressure). A [Table] is text both
// ways.
//
// # Digraph
//
// Package digraph implements the algorithms on directed graphs that linking and
// scheduling use: strongly connected components, a cycle to report, depth,
// topological order. All take time linear in nodes and arcs, up to a logarithm.
//
//	0 ─▶ 1 ─▶ 2 ─▶ 3     Components  -1 0 0 -1
//	     ▲    │          Cycle       1 2
//	     └────┘          Depths      of a graph without cycles
//
// # Jsontext
//
// Package jsontext parses JSON into values that carry their positions.
//
// encoding/json does not suffice for plans: it accepts invalid UTF-8, does not
// keep whether a number was written as an integer, and does not report
// positions of values.
//
//	{"nodes": [ 4.0 ]}     a [Value] of kind Object with the item
//	                       Key nodes, kind Array, bytes 10 to 17, with the item
//	                       kind Number, text 4.0
//
// Time and memory are linear in the size of the text, also for adversarial
// input.
//
// # Lines
//
// Package lines reads and writes the lines of text forms: words, numbers and
// JSON values, one record per line.
//
//	node g Gain ratio=4 :gain=0.5 +color="red"
//	│    │ │    │       │         └ a [Line.JSON] value
//	└────┴─┴────┴───────┴ words: bare, or quoted as in JSON
package graph
