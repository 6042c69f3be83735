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
//
// # Experts
//
// An [ExpertCache] keeps the experts of mixtures that tokens chose most recently,
// and reads the others from the model's files when they are chosen.
//
// An expert of a layer is a few matrices that are used together: it is read,
// used and evicted as one. All experts share one block of equal slots:
//
//	Use      [7 1 4 9]  the experts of a layer that a step has chosen
//	         [1 4│7 9]  those in memory first; the others are read in this order
//	Acquire  1 4        what is in memory from there on; waits for at least one
//	Release             they may be evicted, the least recently used first
//	Acquire  7 9
//
// So experts that are in memory are computed while the first missing one is read,
// and each one while the next is. A layer may choose more experts than there are
// slots: a prompt chooses nearly all. Then they come in several waves.
//
// A prompt that scans all experts of all layers would leave an LRU cache with
// none that the next pass starts with. [ExpertCache.Use] is told of such scans: the
// experts that they read are evicted first, and the others stay.
//
// Reads bypass the page cache and several are in flight. A step in steady state
// allocates nothing. A read that fails ends the step; the next one starts anew.
//
// # Compressed weights
//
// A [CodedFile] keeps the float weights of a model compressed in a file, from
// which a ring streams them if that is faster than to read the model's files.
//
//	page 0…      chunk of a weight, chunk, …    each at a multiple of a page
//	end          index: JSON                    names, codecs, extents, checksums
//	last bytes   version, source, extent and checksum of the index
//
// A chunk decodes to [codedChunkBytes], the last one of a weight to fewer, and can be
// read and decoded by itself. The file is written by package durable, at once,
// and belongs to files of a model with certain sizes and times; for any others,
// and after damage, it is not used.
package ring
