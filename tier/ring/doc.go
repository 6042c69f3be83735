// Package ring computes with bytes of files that are larger than memory: a
// cycle of units is read again and again, ahead of their use, into memory that
// is a fraction of it.
//
//	pass:    0   1   2   3   4   5   0   1   2  …      the order of use
//	ring:   [0 ][1  ][2 ]                              addresses are static:
//	        [3   ][4][5 ]                              unit i always lies
//	        [0 ][1  ]…                                 in the same place
//	              ▲        ▲
//	          in use      being read: as far ahead as space was released
//
// A [Unit] is a set of [Span]s of files that are used together. Since the order
// of units is the same in every pass, each has one address for ever, and who
// computes with it needs no change: a slice that was cut once stays good.
// [Ring.Acquire] waits for the bytes, [Ring.Release] gives their place to the
// readers, which go on into the next pass meanwhile.
//
// Reads bypass the file system's cache where the system allows it, straight
// into place: a span keeps the residue of its offset modulo [PageBytes]. A
// ring starts its readers once and allocates nothing in a pass.
//
// [Hold] reads what stays in memory in the same way.
package ring
