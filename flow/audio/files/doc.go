// Package files connects the nodes of a plan that name sound files (WavSource,
// FlacSource, WavSink, FlacSink) to these files.
//
// Nodes run on a thread that must not block, so they cannot read or write
// files. These nodes are therefore endpoints that the host serves, like Input
// and Probe, and this package is what a host needs to do so:
//
//	plan ──▶ Open ──▶ Files.Sources ──▶ Feed ──▶ flow.Session.Input(node)
//	          │                                        │ Block
//	          │                                        ▼
//	          └─────▶ Files.Sinks ──▶ Format ──▶ flow.Session.Probe(node) ──▶ audio.Write
//
// Open sets the number of channels of a source that does not specify it to that
// of its file, and finds the base rate on which the files agree. Call it before
// linking, and Format after. Relative paths are relative to the folder passed
// to Open, usually the plan's. A plan may name any file: inspect a plan from an
// untrusted origin before running it.
//
// Faults of a plan are a [graph.Error] with the position in the plan.
//
// [graph.Error]: https://pkg.go.dev/atenia/flow/graph#Error
package files
