// Package files joins the nodes of a plan that name sound files (WavSource,
// FlacSource, WavSink, FlacSink) to these files.
//
// A graph does not read or write: its nodes run on a thread that may not wait.
// So these nodes are endpoints that the host serves, as Input and Probe are, and
// this package is what a host needs for them:
//
//	plan ──▶ Open ──▶ Files.Sources ──▶ Feed ──▶ flow.Session.Input(node)
//	          │                                        │ Block
//	          │                                        ▼
//	          └─────▶ Files.Sinks ──▶ Format ──▶ flow.Session.Probe(node) ──▶ audio.Write
//
// Open gives a source that does not say how many channels it has those of its
// file, and finds the base rate that the files agree on. It comes before
// linking, Format after it. Paths that are not absolute are relative to the
// folder that Open is told, which is the plan's. A plan may name any file: who
// runs one that he did not write should look at it before.
//
// Faults of a plan are a [graph.Error] with the place in the plan.
//
// [graph.Error]: https://pkg.go.dev/atenia/flow/graph#Error
package files
