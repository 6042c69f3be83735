// Package amp runs nodes written in C, from shared libraries loaded at run
// time; no C compiler is needed to run them. include/amp.h is the contract,
// include/template.c a complete node, docs/c-nodes.md the manual.
//
//	folders ──Scan──▶ manifests ──OpenCatalog──▶ Catalog ──Types──▶ node.Table, appended to flow.Options.Catalog
//	                                                │ first node of a library
//	                     trusted ◀──────────────────┴───────────────────▶ all others
//	                  Open: Library                                  StartProcess: Process
//	                  in this process                                in a child
//	                  a call costs 40 ns                             a call costs a few µs
//	                  a crash ends the program                       a crash costs a few blocks
//
//	c, err := amp.OpenCatalog(ctx, amp.CatalogConfig{…})
//	session, err := flow.New[float32](plan, flow.Options{Catalog: append(flow.ShippedTypes(), c.Types()...)})
//
// A [Catalog] loads and starts nothing before the first node of a library is
// made: plans are linked by manifests alone. A library that requests isolation
// gets a process, trusted or not. A host with one trusted library may call
// [Open] itself.
//
// # A call
//
// Each node is a node.Instance with its state, descriptor and buffers outside
// Go's heap. A call fills in the buffers of the C call, makes it, and checks
// what the node did:
//
//	state replaced            the old one is released, once
//	frames lowered            a late node; more, or another pointer: InvalidArg, zeros
//	v2 answers Unsupported    in forward: v1 from now on
//	positive, or below -11    Fail: no node may return that
//	environment changed       set back
//
// Violations are counted, and [Library.Events] reports each kind once per node.
// A call allocates nothing, and may be made on a thread without a P.
//
// A type's parameters follow its signal inputs. A parameter that the plan
// neither gives nor modulates is flagged absent, and the node's own default
// applies. Other values of the plan's params are settings, which the node finds
// in params_json. Two settings are the host's: batches and channels fix the
// outputs' shape, which otherwise is that of the first input, or 1, 1 for a
// source.
//
// # Manifests
//
// A [Manifest] describes a library in a file beside it, so that it need not be
// loaded to be listed:
//
//	filters.amp.so
//	filters.amp.json    {"abi": [2, 0], "sha256": "…", "vendor": "…", "version": "1.2",
//	                     "isolate": false,
//	                     "nodes": [{"type": "OnePole", "inputs": ["in"], "outputs": ["out"],
//	                                "params": ["a", "thermo.heat"], "caps": ["v2", "backward", "f64"],
//	                                "oversample_ratio": 1, "declared_delay": 0, "jacobian": "toeplitz"}]}
//
// Inputs, outputs and params may be given as numbers; their names are then in0,
// out0, p0 and so on. Unknown keys and capabilities are ignored, since a later
// minor version may define them. Manifests are untrusted input: [ParseManifest] bounds
// what it reads and reports where a fault is.
//
// [Scan] searches folders in order. A library without a manifest is described by
// a child process that loads it, and the answer is cached by path, size, time
// and checksum. A child that crashes, or exceeds [ScanLimit], leaves its library
// quarantined until the file changes. For each type and major version of the ABI
// the first library counts; the others are listed as shadowed.
//
// # Processes
//
//	SIGSEGV, SIGBUS, …    Go's handler: a trace of all goroutines, then exit
//	after Default, Linux  the kernel ends the process, and the parent notices
//
// # Scan
//
// Package scan finds libraries of C nodes and their descriptions without
// loading any into this process.
//
//	folders, in order ──▶ *.amp.so ──▶ NAME.amp.json beside it ──▶ manifest
//	                                   else the cache           ──▶ manifest, or quarantined
//	                                   else a child loads it    ──▶ manifest, or quarantined; both are remembered
//
//	for each type and major version of the ABI the first library counts;
//	the others are listed as shadowed
//
// A child that crashes, or exceeds [ScanLimit], leaves its library quarantined
// until the file changes: cache entries are keyed by path, size, time and
// checksum. The child is the program itself, started with [ScanConfig].Command,
// which must end up in [ServeManifest].
//
// # Isolate
//
// [StartProcess] runs a library of C nodes in a process of its own. A node that
// crashes or hangs then costs its graph a few muted blocks, and the host keeps
// running.
//
//	host                     shared memory (memfd)            child, one a library
//	instance.Forward ──────▶ queue: inputs, parameters ─────▶ the same node, in process
//	                         request word ──futex──▶
//	waits, with a limit ◀──futex── response word
//	outputs, heat, delay ◀── outputs ◀────────────────────── snapshot after each request
//	Events ◀──────────────── log ◀────────────────────────── amp_host_t.log
//	Start, instances ──────▶ control pipe, JSON lines ──────▶
//
//	                         ┌── answer in time ──▶ running
//	running ── request ──────┤
//	   ▲                     ├── none in time ─▶ Timeout, the call stays queued ─▶ running, catching up
//	   │                     │                  └── for longer than Patience ─▶ ended, suspended
//	   │                     └── child is gone ─▶ Crashed; the third in a minute ─▶ quarantined
//	   └── new child, or the spare, with the last snapshots and the queues ◀── at once, then after
//	       100 ms of the stream, 200, 400, … 10 s
//
// The child is the program itself, started with [ProcessConfig].Command, which
// must end up in [Serve]. One request carries any number of calls ([Batch]), so
// that a child costs one round trip per block however many of its nodes are in the
// graph.
//
// A request allocates nothing and takes no Go lock, so that it may be made on a
// thread without a P. A child is not a sandbox: it may read whatever the user
// may read. It contains faults, not malice.
//
// All of this needs Linux on amd64 or arm64.
//
// # Catalogs
//
// A [Catalog] adds libraries of C nodes to the shipped types: it scans for
// them, and runs each in this process or in a child, by trust.
//
//	trusted libraries      in this process       a call costs 40 ns; a crash ends the program
//	all others             a separate process    a call costs a few µs; a crash costs a few blocks
//
//	c, err := amp.OpenCatalog(ctx, amp.CatalogConfig{…})
//	session, err := flow.New[float32](plan, flow.Options{Catalog: append(flow.ShippedTypes(), c.Types()...)})
//
// Nothing is loaded or started before the first node of a library is made:
// plans are linked by manifests alone. A library that requests isolation gets a
// process, trusted or not.
//
// # CLAP plug-ins
//
// A [CLAPCatalog] runs CLAP audio plug-ins (CLever Audio Plug-in, version 1.2,
// github.com/free-audio/clap) as nodes, without cgo: those that are trusted in this
// process, all others in a child. docs/clap.md is the manual.
//
// A plug-in's node type is named by its id. Its audio ports are the ports, its
// parameters the parameters, clamped to their range; a plug-in with more than 48
// has those that the plan gives, then its first ones. A plug-in is described in
// a child when a plan first uses it; plans are linked by that.
//
//	setting      meaning
//	frames       of a process call; 64 by default
//	inputs       audio inputs with an edge; 0 means the first. Others are silent
//	state        what the plug-in saved, in base64
//	state_file   or a file with it; see [CLAPCatalog.State]
//	notes        a score for instruments; see [ParseCLAPNotes]
//
// # Frames of a plug-in
//
// The outputs of this engine never depend on how a stream is cut into blocks. A
// plug-in may do what CLAP allows: process 64 frames otherwise than twice 32. So
// a node collects its inputs, and every process call has the same number of
// frames, which begin at a multiple of it. That makes the outputs late by
// frames - 1, to which the latency that the plug-in declares is added: the delay
// that "pdc" compensates. With frames 1 there is no delay, and most plug-ins
// become slow.
//
// Changes of parameters and notes are events at the frame where they happen. The
// plan's constant parameters are also given before the plug-in is activated,
// since its latency may depend on them; if it then differs from what was
// described, the error is a [*CLAPLatencyError] with the number to declare.
//
// # Threads of a plug-in
//
// CLAP has a main thread, always the same, and an audio thread, which is
// whichever thread has that role. Each [CLAPLibrary] has a system thread of its own
// as the main thread: there plug-ins are made, described, activated, given
// states, saved, answered (request_callback, every 10 ms) and destroyed. The
// thread that calls Forward or Reset has the audio role while it is in the
// plug-in. Starting and stopping are done by the main thread in the audio role,
// which CLAP allows.
//
// Forward allocates nothing, takes no lock and may run on a thread without a P,
// as package live's does: what a plug-in calls back (events, log, thread-check,
// requests) is assembly that reads and sets memory outside Go's heap.
//
//	plug-in                            assembly (clapcallbacks_linux_*.s)
//	host->get_extension, log, … ─────▶ reads and sets words of a hostContext
//	in_events->size, get ────────────▶ reads hostEvents
//	stream->read, write ─────────────▶ copies from and to a hostStream
//
// None of these enters Go: a plug-in may call them from any thread, and everything
// that it sees is outside Go's heap, in an abi.Memory. claplayout.go has the structures
// of CLAP 1.2 (include/clap).
//
// # What a plug-in cannot
//
// Gradients: a plug-in has no adjoint, and a strict sweep is refused with
// graph.Unsupported. Batches: a node has one. Restarts that a plug-in asks for,
// GUIs, transport, timers, modulation of single notes, outputs of events, which
// are accepted and dropped.
//
// A plug-in is foreign code. What it claims is bounded and checked, with errors
// of type [*CLAPRefusedError]; a crash costs an isolated one a few blocks.
package amp
