// Package clap runs CLAP audio plug-ins (CLever Audio Plug-in, version 1.2,
// github.com/free-audio/clap) as nodes of a graph, without cgo. docs/clap.md is
// the manual.
//
//	folders ──find──▶ *.clap ──a child lists ids──▶ Catalog ──Types──▶ node.Table, appended to flow.Options.Catalog
//	                                                   │ first node of a file
//	                        trusted ◀──────────────────┴───────────────────▶ all others
//	                     Open: Library                                  amp.StartProcess, Format "clap":
//	                     in this process                                a Library in a child
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
//	state_file   or a file with it; see [Catalog.State]
//	notes        a score for instruments; see [ParseNotes]
//
// # Frames
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
// described, the error is a [*LatencyError] with the number to declare.
//
// # Threads
//
// CLAP has a main thread, always the same, and an audio thread, which is
// whichever thread has that role. Each [Library] has a system thread of its own
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
//	plug-in                            assembly (callbacks_linux_*.s)
//	host->get_extension, log, … ─────▶ reads and sets words of a hostContext
//	in_events->size, get ────────────▶ reads hostEvents
//	stream->read, write ─────────────▶ copies from and to a hostStream
//
// None of these enters Go: a plug-in may call them from any thread, and everything
// that it sees is outside Go's heap, in an abi.Memory. layout.go has the structures
// of CLAP 1.2 (include/clap).
//
// # What is not there
//
// Gradients: a plug-in has no adjoint, and a strict sweep is refused with
// graph.Unsupported. Batches: a node has one. Restarts that a plug-in asks for,
// GUIs, transport, timers, modulation of single notes, outputs of events, which
// are accepted and dropped.
//
// A plug-in is foreign code. What it claims is bounded and checked, with errors
// of type [*RefusedError]; a crash costs an isolated one a few blocks.
package clap
