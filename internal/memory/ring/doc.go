// Package ring streams weights that are larger than memory: it reads a cycle of
// units over and over, ahead of their use, into a ring buffer that holds a
// fraction of them.
//
//	pass:    0   1   2   3   4   5   0   1   2  …      the order of use
//	ring:   [0 ][1  ][2 ]                              addresses are static:
//	        [3   ][4][5 ]                              unit i is always
//	        [0 ][1  ]…                                 in the same place
//	              ▲        ▲
//	          in use      being read: as far ahead as space was released
//
// A [Unit] is a set of [Span]s of files that are used together. Because the
// order of units is the same in every pass, each unit has a fixed address, and
// the code that computes with it can keep its slices. [Ring.Acquire] waits for
// the bytes; [Ring.Release] lets the readers overwrite them, and they read ahead
// into the next pass.
//
// Reads use direct I/O where the system supports it and go straight to their
// final address: a span keeps the residue of its offset modulo [PageBytes]. A
// span that has a coded form is read in chunks instead, which are decoded to
// that address.
//
//	Io        ║ read ║ read ║ read ║ read ║       one task for each piece
//	Transfer  ║          ║ decode ║ align ║       after the reads they need
//	user      ║ compute:0 ║ wait:1 ║ compute:1    entered by Acquire, left by Release
//
// They are tasks of an executor of package lane, submitted by the user of the
// ring as soon as memory is free. A ring allocates nothing during a pass.
//
// [Pin] reads pinned spans in the same way.
package ring
