// Package basic holds the nodes that every graph is made of: where a graph meets
// its host, and what happens to channels without memory.
//
//	Input  ──▶ Gain ──▶ Pan ─┐
//	Constant ─▶ Matrix ──────┴▶ Mix ──▶ Split ──▶ … ──▶ Merge ──▶ Probe
//
// None of them has state, so all are bit-equal however a stream is cut.
// [Types] is their table; each is described where it is made.
package basic
