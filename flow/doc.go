// Package flow runs dataflow graphs: streams of frames through nodes, forward and backward. Results depend on the plan
// and its inputs alone, never on block size, firing order, fusion or the number of threads.
//
//	plan ──graph.Parse──▶ graph.Plan ──graph.Link──▶ graph.Linked ──NewLinked──▶ Session
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
// # Main types
//
// A [Session] is a running graph. [New] links a plan and allocates everything that running it needs; [Options] chooses
// block size, threads, memory and what to measure. [Session.Run] runs whole streams; a host that has its own clock
// fills [Session.Input], calls [Session.Block] and reads [Session.Probe].
//
// A graph is deterministic in its inputs, and a host has two kinds of them: frames, and a [ControlToken] for each gate
// opened and each parameter set, at the start of a block, and a [Cue] for each note and each change of a parameter at an
// exact frame ([Session.Post]), which do not depend on the blocks. [Session.Control] returns the tokens accepted so far. With
// [Session.Play], another session of the same plan repeats the run bit for bit.
//
// [ShippedTypes] is the table of the node types that come with the program. A host appends its own, or C nodes from
// package flow/amp, and passes the result as [Options] Catalog.
//
// An [Arena] is memory outside Go's heap that grows and never moves. Nodes in C and sessions in real time (package
// flow/live) need one; every other session may leave [Options] Memory nil.
//
// [Session.Metrics] reports joules, calls, time and delays by node, [Session.Events] errors of nodes, NaN and missed
// limits, [Session.Log] every firing, [Session.Occupancies] how full the channels are.
//
// # Backward
//
// A session with a [Record] keeps what the nodes' adjoints read. A sweep then carries gradients from the probes to
// inputs and parameters. The result is the gradient of the whole stream (the discrete adjoint), bit for bit the same
// for every block size, order, number of threads and number of snapshots.
//
//	rec, err := s.Record(flow.Recording{Every: flow.EverySqrt})
//	out, err := s.Run(inputs, blocks)
//	g, err := rec.Backward(seed(out), flow.Sweep{})
//
// A training loop passes the gradients of the previous step to [Record.BackwardInto], which reuses their memory and
// allocates no frames.
//
// # Glossary
//
//	frame    one sample of every channel of every batch; the base rate counts them, and each edge has a rate relative to it
//	block    Options.BlockFrames base frames, the unit of scheduling: every process fires once a block, in a cycle once a sub-block
//	token    the quantum of a node: it takes Cons[i] frames from input i and gives Prod[o] frames to output o (synchronous data flow)
//	firing   one call of a node for some number of tokens
//	gate     a condition on an edge that holds back its readers: a barrier, a tempo, transport, heat, or an event of the host
//	hold     a delay that withholds frames; prefill is a delay that inserts zeros
//	cue      a note, a controller message or a change of a parameter at a frame of the stream
//	cohort   nodes of one stage, type, oversampling ratio, shape and set of gates: candidates for fusion
//	unit     one firing in the static list, with its tensors and parameters bound
//	strand   the calls that one thread makes in sequence; strands of a section run in parallel, sections run one after another
//	heat     joules per call that a node declares or reports, summed separately for forward and backward; the input of thermal gates
//	drain    blocks after the last whole one: the rest of the inputs (Session.Finish), then delays empty; gates count as open, nodes give out what they hold back
//	sweep    one backward pass over the recorded firings, in reverse
//	snapshot the state of a session between two blocks, from which a sweep computes forward calls again instead of keeping them
//
// # Files
//
//	run.go             sessions: blocks, streams, the order of visits
//	build.go           from a linked graph to processes and channels
//	ready.go, fire.go  when a process may fire and for how many tokens; one firing
//	join.go            one call for several nodes of a separate process
//	channel.go         channels, with ring.go for their frames and memory.go for where these are stored
//	drain.go           what nodes hold back until the end of the stream
//	full.go            full channels: who waits, what grows, what is lost, and the deadlocks that capacities cause
//	param.go           values of parameters: default or host, then modulation
//	rehearse.go        a run of the counts alone: channel capacities and static order
//	compile.go         the static schedule, with static.go, fuse.go and strand.go
//	control.go         gates and parameters set by the host
//	change.go          a change over to another plan, with a cross-fade
//	cue.go             notes, messages and changes of parameters at frames
//	fault.go           node errors, NaN and infinities
//	heat.go            joules, calls and times by node
//	arena.go           memory outside Go's heap
//	shipped.go         the table of node types
//	backward.go        records, with journal.go for the calls kept and sweep.go for the backward pass
//	sweepwide.go       sweeps on several threads
//	snapshot.go        sweeps with few calls kept, with revolve.go for where snapshots are placed
package flow
