// Package view shows a flow graph: its structure as a drawing, and its state
// while it runs as metrics for Prometheus and a trace for Perfetto.
//
//	graph.Linked ── SVG ─────────────────────────────────────▶ an SVG document
//	session ── counts, blocks, channels ──▶ Snapshot ──▶ Metrics ──▶ GET /metrics, a file
//	        ── one Call for each call of a node ───────▶ Trace ──▶ file for ui.perfetto.dev
//
// # Drawing
//
// [SVG] draws a linked graph in layers:
//
//	layers            order                 positions
//	stage of a node   few crossings:        joined nodes level,
//	                  means of neighbours   least squares, no overlap
//
//	┌──────────┐  2/1      ┌──────────┐
//	│ osc    ● ├──────────▶│ ●  down  │   a line for an edge: rate and what holds it
//	│ Saw · ×8 │  hold 192 │ 64 frames│   dashed: modulation; red, below: prefill
//	└──────────┘           └──────────┘
//
// A box shows the node's type, parameters, rate, declared delay and latency: by
// how many base frames the holds on its paths delay its output ([Latency]).
// Nodes of a cycle are tinted, and their edges carry the prefill as a negative
// power of z. A diamond on an edge marks its gates.
//
// The layers are the stages of the linked graph; the rest is the usual layered
// layout (Sugiyama, Tagawa and Toda, Methods for visual understanding of
// hierarchical system structures, 1981). The same graph gives the same bytes.
//
// # Metrics
//
// A [Snapshot] is the state of a session at one time, filled in by the host
// between blocks. [Metrics] serves the last one it was given, under these names;
// any number of scrapes may read it while the session runs.
//
//	atenia_flow_heat_joules_total{node,mode}    what nodes report, mode forward or backward
//	atenia_flow_calls_total{node,mode}
//	atenia_flow_call_seconds_total{node,mode}   if the session measures time
//	atenia_flow_measured_delay_frames{node}     the largest a node reported
//	atenia_flow_heat_ignored_total              reports that were not finite
//	atenia_flow_graph_heat_joules_total{mode}   all nodes together
//	atenia_flow_blocks_total, …_late_blocks_total, …_muted_blocks_total
//	atenia_flow_channel_frames{edge,state}      used and capacity
//	atenia_flow_gradient_norm{node,parameter}   of the last sweep
package view
