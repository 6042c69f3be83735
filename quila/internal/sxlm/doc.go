// Package sxlm reads and writes the model file of Quila (SX-SPEC-QUILA-001
// §21, section 6): everything a network is, in seven compressed blocks that are
// verified before one byte of them is decompressed.
//
//	off  size
//	0    64   preamble: magic, version, sizes, flags, SHA-256 of the header
//	64   L    header: protobuf with the meta data and seven descriptors
//	…         zeros to a multiple of 4096, then blocks 1 to 7, each one zstd
//	          frame at a multiple of 64
//
//	1 parameters   2 neuron states, Adam moments   3 graph and edges
//	4 codebooks, VQ networks, tokenizer, B-link tree   5 key-frame libraries
//	6 Engram   7 persona
//
//	Model    a network in memory; [Fresh] makes one, [Read] and [Write] move it
//	Info     preamble, meta data and descriptors of a verified file
//	Tensor   an array of a block, with its element type
//	Error    what is wrong with a file: step, block and offset
//	Deploy   extracts a file into folders and loads it, all or nothing
//
// # Steps
//
// A reader goes through eight steps and stops at the first fault. Up to the
// fifth it allocates nothing but the header.
//
//	1 preamble     magic, version, flags, sizes against the real one
//	2 header hash  SHA-256 of the header
//	3 fields       strict protobuf: ascending, minimal, nothing unknown; ranges
//	4 descriptors  ids, places, levels, padding, sizes within the budget
//	5 hashes       every block and all of them together, in one pass
//	6 frames       one zstd frame each, decompressed by seven goroutines
//	7 containers   indexes and shapes
//	8 contents     values, graph, libraries and counts against the meta data
//
// Blocks 1, 2, 4, 6 and 7 are TSEC containers: an index sorted by name, then
// tensors at multiples of 64. A tensor of nothing but zeros takes no bytes, so
// the moments of a new network cost an index row each. The names are those of
// [weights.Inventory], of the states and of the optimizer, no more and no fewer.
//
// # Departures
//
// Two tensors of block 2 are weights: s4.spec and s5.calibration. The other
// content of s2 and s5 is ignored and set to the values of a new network
// [R-5.1a]. If their moments are not zero they are written as s7.m.s4.spec and so
// on, which the inventory does not name, because training that continues from a
// file has to be bit-equal to training that never stopped.
//
// The encoder is klauspost/compress: a descriptor has the level that was
// requested, 19 or 3, meta.writer the encoder's name. Frames of any encoder are
// read.
//
// # Stores of a running model
//
// A [Stores] holds the stores of one model while it runs, and carries them
// between its file and memory: libraries of key features (block 5), the hashed
// look-up memory (block 6), the persona (block 7).
//
//	s, err := sxlm.OpenStores(ctx, file, sxlm.StoreOptions{})
//	h := s.Recall(neuron, hMid, hKFE)     // step 6
//	keys, values := rows.Of(codes, state) // further rows for a port
//	s.Manner(m)                           // m += gate·W_persona·p
//	err = s.Keep(ctx, file)               // libraries and eviction weights, to be written
//
// What a file does not have costs nothing: without entries there is no recall, a
// table of zeros has no rows, a persona of zeros adds nothing, and results have the
// bits of a network without stores.
//
// All memory is reserved in one account. With a folder, entries beyond a limit lie
// in cold blocks there, in a folder of this process that [Stores.Close] removes, and
// the persona in a file that stays.
package sxlm
