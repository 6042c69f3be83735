// Package observe exports the state of a running graph: metrics for Prometheus,
// a trace for Perfetto.
//
//	session ── Metrics, blocks, channels, gradients ──▶ Snapshot ──▶ Set ──▶ GET /metrics, a file
//	        ── a Call for every call of a node ───────▶ Trace ──▶ file for ui.perfetto.dev
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
//
// Any number of scrapes may read a Set while a session runs: it serves the last
// snapshot it was given, and the session's host updates it when convenient.
package observe
