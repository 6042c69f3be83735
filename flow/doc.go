// Package flow runs dataflow graphs: streams of frames through nodes, forward and backward. Results depend on the plan
// and its inputs alone, never on block size, firing order, fusion or the number of threads.
//
//	plan ──graph.Parse──▶ Plan ──graph.Link──▶ Linked ──New──▶ Session
//
//	          ┌────────── Session ──────────────────────────────────┐
//	Input ──▶ │ process ──▶ channel ──▶ reader ──▶ process ──▶ …    │ ──▶ Probe
//	          │   node       ring      cursor, hold, prefill        │
//	          └─────────────────────────────────────────────────────┘
//
// A process is a node that owns its state and communicates only through channels. A channel is a FIFO with one writer
// and any number of readers, each with its own cursor. Reads block: a reader cannot test whether frames are there and
// act on the answer. The frames on every channel therefore follow from the inputs alone (Kahn, The semantics of a
// simple language for parallel programming, 1974): scheduling decides when a frame is computed, never its value.
//
// # From a plan to frames
//
//	plan         JSON or text: nodes, edges, gates
//	  │ graph.Parse
//	graph        [graph.Plan], names not yet resolved
//	  │ graph.Link: rates, delays, shapes, topological order, deadlocks
//	schedule     [graph.Linked]; package schedule tabulates it
//	  │ New: processes and channels; rehearse runs the counts without data
//	units        one bound call each, in the order of the rehearsal's last block
//	  │ cohorts, align, fuse: equal units of one level become one call
//	strands      lists of calls that need nothing of each other, one per thread
//	  │ Session.Block
//	blocks       each strand runs once a block
//	  │
//	frames       what Input nodes were fed and Probe nodes took
//
// # Glossary
//
//	frame    one sample of every channel of every batch; the base rate counts them, and each edge has a rate relative to it
//	block    Options.BlockFrames base frames, the unit of scheduling: every process fires once a block, in a cycle once a sub-block
//	token    the quantum of a node: it takes Cons[i] frames from input i and gives Prod[o] frames to output o (synchronous data flow)
//	firing   one call of a node for some number of tokens
//	gate     a condition on an edge that holds back its readers: a barrier, a tempo, transport, heat, or an event of the host
//	hold     a delay that withholds frames; prefill is a delay that inserts zeros
//	cohort   nodes of one stage, type, oversampling ratio, shape and set of gates: candidates for fusion
//	unit     one firing in the static list, with its tensors and parameters bound
//	strand   the calls that one thread makes in sequence; strands of a section run in parallel, sections run one after another
//	heat     joules that a node declares or reports, summed in package heat; the input of thermal gates
//	drain    blocks after the last input: delays empty, gates count as open
//	sweep    one backward pass over the recorded firings, in reverse
//	snapshot the state of a session between two blocks, from which a sweep computes forward calls again instead of keeping them
//
// # Files
//
//	run.go       sessions: blocks, streams, the order of visits
//	build.go     from a linked graph to processes and channels
//	ready.go     when a process may fire, and for how many tokens
//	fire.go      one firing: frames in, parameters, the node's call, frames out
//	channel.go   rings and cursors
//	memory.go    where frames are stored
//	process.go   nodes; their parameters are in internal/param
//	rehearse.go  a run of the counts alone: channel capacities and static order
//	static.go    the static schedule; compile.go and fuse.go build it
//	control.go   input of the host besides frames: gates, parameters
//	fault.go     node errors, NaN and infinities
//	metrics.go   joules, calls and times by node, from package heat
//	backward.go  recording of forward calls and sweeps over them, by package internal/adjoint; snapshot.go recomputes blocks from snapshots
//
// # Backward
//
// A session with a [Record] keeps what its adjoints read. A sweep then carries gradients from the probes to inputs and
// parameters. The result is the gradient of the whole stream, bit for bit the same for every block size, order, number
// of threads and number of snapshots.
//
//	rec, err := s.Record(flow.Recording{Every: flow.EverySqrt})
//	out, err := s.Run(inputs, blocks)
//	g, err := rec.Backward(seed(out), flow.Sweep{})
//
// A training loop passes the gradients of the previous step to [Record.BackwardInto], which reuses their memory and
// allocates no frames.
package flow
