// Package flow runs dataflow graphs: streams through nodes, forward and
// backward, with results that do not depend on who ran what when.
//
//	plan ──graph.Parse──▶ Plan ──graph.Link──▶ Linked ──New──▶ Session
//
//	          ┌────────── Session ──────────────────────────────────┐
//	Input ──▶ │ process ──▶ channel ──▶ reader ──▶ process ──▶ …    │ ──▶ Probe
//	          │   node       ring      cursor, hold, prefill        │
//	          └─────────────────────────────────────────────────────┘
//
// A process is a node that owns its state and talks only through channels. A
// channel is a first-in-first-out of one writer and any number of readers with
// a cursor each. A reader waits for frames; it cannot look whether there are
// any and do something else. So the frames on every channel follow from the
// inputs alone (Kahn, The semantics of a simple language for parallel
// programming, 1974): block size, order of visits, fusion and threads change
// when something happens, never what.
//
// # A block
//
// Time goes in blocks of BlockFrames base frames. In each of them a process
// fires once, when its gates are open and every input has a whole block; inside
// a cycle it fires in slices, as short as the shortest way round. After the last
// block of the host a session is drained: delays end, gates count as open and
// processes take what is left.
//
// # What is where
//
//	run.go       sessions: blocks, streams, the order of visits
//	build.go     from a linked graph to processes and channels
//	ready.go     when a process may fire, and how much
//	fire.go      one firing: frames in, parameters, the node's call, frames out
//	channel.go   rings and cursors
//	memory.go    what frames lie in
//	process.go   nodes; their parameters are in internal/param
//	rehearse.go  a run without data: how much each channel must hold
//	static.go    the path without questions; compile.go and fuse.go make its list
//	control.go   what the host says: gates, parameters
//	fault.go     what happens when a node fails or makes NaN
//	metrics.go   joules, calls and times by node, from package heat
//	backward.go  records of forward calls and sweeps over them, by package
//	             internal/adjoint; snapshot.go runs blocks again instead
//
// # Backward
//
// A session that has a [Record] keeps what its backward calls look at. A sweep
// then goes from the probes to inputs and parameters; the gradient is that of
// the whole stream, to the bit the same for any blocks, order, threads and
// number of snapshots.
//
//	rec, err := s.Record(flow.Recording{Every: flow.EverySqrt})
//	out, err := s.Run(inputs, blocks)
//	g, err := rec.Backward(seed(out), flow.Sweep{})
//
// A loop of training steps sweeps into the gradients of the step before, with
// [Record.BackwardInto], and allocates no frames.
package flow
