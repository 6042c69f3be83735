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
//
// # Control
//
// Package control describes a host's input to a running graph besides frames,
// as values with a text form: gates opened and parameters set, each at the
// start of a block. A dataflow graph is deterministic in its inputs, and these
// are inputs: recording them makes a run reproducible.
//
//	3 open 9              gate 9 is open for block 3
//	5 set eq.f0 1000      parameter f0 of node eq has this value from block 5 on
//	8 clear eq.f0         and its default again from block 8 on
//
// # Heat
//
// Package heat sums the reports of a dataflow graph's nodes: joules, calls,
// time, delays.
//
//	Meter    updated by calls: no allocation, no lock, one thread per node
//	Metrics  the totals as a value with text
//
//	node ──Add(joules)──▶ Meter ──Report──▶ Metrics ──String──▶ a table
//
// Heat is joules per call, summed separately for forward and backward calls. A
// report that is not finite is left out of the sums and counted.
//
// # Firing
//
// Package firing records the order in which nodes fire.
//
//	block 2 ──▶ "2: osc 64, up 64, out 256"
//
// # Param
//
// Package param computes the values of nodes' parameters: the value of the plan
// or the host, v[n mod N] of each row for token n, then the modulations, edge
// by edge.
//
//	value    v0 v1 … | v0 v1 … | …      a block's length or one, row by row
//	add  +   scale·x0 scale·x1 …        of the channel that the edge names, else
//	mul  ·   scale·z0 scale·z1 …        of the same one; the last repeats
//
// # Revolve
//
// Package revolve computes where to place snapshots when only a limited number
// can be kept (A. Griewank and A. Walther, Algorithm 799: Revolve, 2000).
//
//	│ snapshot                   │ another snapshot         end
//	├──────── Cut(n, slots) ─────┼──────── the rest ─────────┤
//	  swept last, with slots       swept first, with slots - 1
//
// # Ring
//
// Package ring keeps the most recent frames of the rows of a stream.
//
//	frame f of a row lies at f mod size        size = 8, f = 9
//	┌───┬───┬───┬───┬───┬───┬───┬───┐
//	│ 8 │ 9 │ 2 │ 3 │ 4 │ 5 │ 6 │ 7 │
//	└───┴───┴───┴───┴───┴───┴───┴───┘
//
// A [Ring] does not count frames: readers and writers pass positions.
//
// # Strand
//
// Package strand partitions a list of calls with dependencies among threads.
//
//	tasks by level     section 1            section 2
//	                   strand a  a1─a3─a5   a6─a7
//	a1 … a7  ──Cut──▶  strand b  a2─a4
//	                   └ in parallel ──┘    └ one thread ┘
//
// A strand is a sequence of calls for one thread; strands of a section do not
// depend on each other. Levels are merged into a section as long as independent
// strands remain, so threads synchronize once per section instead of once per
// level. The cut follows from the tasks' costs, which are computed from the
// plan and not measured: the same plan is always cut alike.
//
// # Stream
//
// Package stream cuts streams into blocks and concatenates blocks.
//
//	stream ──Cut──▶ block, block, … ──▶ a session ──▶ block, block, … ──Add──▶ Take ──Join──▶ stream
//
// # Adjoint
//
// Package adjoint runs a dataflow graph backward (reverse-mode
// differentiation): a journal of the forward calls is replayed in reverse, and
// gradients flow from readers to writers.
//
//	Journal   of each node, its calls: number of tokens, inputs, outputs, the
//	          state before — the minimum that backward calls read
//	Sweep     the replay: seeds at probes, sums for parameters, gradients at
//	          inputs
//
//	forward    x ──▶ a ──▶ b ──▶ probe        frame n of x becomes frame n + π of b
//	                 └───▶ c ──▶ probe
//	backward   x ◀── a ◀─+─ b ◀── seed        frame n + π of b's gradient is frame n of x's
//	                     └─ c ◀── seed        sums in edge order
//
// The gradient is that of the whole stream (the discrete adjoint): a node
// carries the gradient of its state from each call back to the preceding one. A
// hold changes when frames move and not which: its transpose is the identity. A
// prefill's transpose drops the gradients of the zeros and shifts the others.
//
// A call may be replayed once all readers of its outputs have gone back to
// where it began. The order of calls that are ready does not matter: every edge
// queues its gradients separately, and the writer sums them, always in edge
// order.
//
// # Shipped
//
// Package shipped is the table of all node types that come with the program.
//
//	package             types
//	flow/internal/signal     Input Probe WavSource WavSink FlacSource FlacSink Constant Gain Mix Split Merge Matrix Linear Pan
//	flow/internal/signal    Biquad
//	flow/internal/signal    SVF OnePole DCBlock FIR Convolver
//	flow/internal/signal     Delay
//	flow/internal/signal  Resample Upsample Downsample AsyncResample
//	flow/internal/signal  Envelope Compressor Limiter WaveShaper ADSR
//	flow/internal/signal      Oscillator OversampledOsc
//	flow/internal/signal    LFO Noise
//	flow/internal/spectral  FFT IFFT STFT ISTFT Mel SpectralLoss LogMel MFCC
//	flow/internal/signal     Meter
//	flow/internal/signal    Conv1d GRU SquaredError
//
// To add a type, add an entry to the table of its package; to add a package of
// types, add a line to [Types].
//
// # Arena
//
// Package arena allocates the memory of a running graph: one range of addresses
// outside Go's heap that grows and never moves.
//
//	reserved   ├───────────────────────────────────────────────── 64 GiB ┤
//	committed  ├──────────────── 1, 2, 4, 8 … MiB ┤ faults when touched
//	used       ├ carve ┤g├ carve ┤g├ carve ┤g┤
//
// An [Arena] reserves address space first, as much as the system allows, and
// commits memory only when carves need it, doubling each time. Carves are
// therefore contiguous, and their addresses stay valid until [Arena.Close].
// Nodes written in C rely on that: they keep pointers. The garbage collector
// neither scans nor moves the memory.
//
// A carve starts on a cache line and is followed by a guard of one cache line.
// [Arena.Check] finds overwritten guards and names the carve before them, which
// identifies a node that writes too many frames.
//
// In real time nothing may grow: after [Arena.Freeze] all memory in use is
// resident, and growth is an error until [Arena.Thaw]. Only one goroutine may
// carve at a time; the carved memory has no such restriction.
package flow
