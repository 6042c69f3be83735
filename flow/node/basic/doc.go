// Package basic holds the memoryless nodes: the endpoints where a graph meets
// its host, gains, and routing of channels.
//
//	Input  ──▶ Gain ──▶ Pan ─┐
//	Constant ─▶ Matrix ──────┴▶ Mix ──▶ Split ──▶ … ──▶ Merge ──▶ Probe
//
// None of them has state, so results do not depend on how a stream is cut.
// [Types] returns their table; each is described where it is defined.
package basic
