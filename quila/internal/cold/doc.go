// Package cold keeps what a store has no room for in a folder: blocks of
// records, each one zstd frame in a file of its own, and an index from a
// record's key to its place.
//
//	f, err := cold.Open(cold.Config{Dir: dir})
//	err = f.Put(7, records, raw)          // block 7 is on disk
//	b, err := f.Get(key)                  // one block is read
//	err = f.Archive()                     // slow, small frames for what stays
//	err = f.Close()                       // writes the index
//
//	Folder  the blocks of a folder
//	Record  a key and where its bytes lie in a block
//	Stats   what was read, written, rebuilt and found damaged
//
// A file is named for its block and holds, inside the frame:
//
//	"QCLD"  u32 version  u32 level  u32 n  n × {u64 key, u32 offset, u32 length}  raw bytes
//
// so that the blocks alone are the whole truth. A block is on disk before Put
// returns (package durable): a kill loses nothing that was acknowledged. The
// index, a B-link tree in memory, is written by Close and deleted by the first
// change after Open. One that is missing, damaged or of other blocks is rebuilt by
// reading all blocks; those that are damaged are named in [Stats] and left alone.
//
// A block that is written while a session uses it is compressed at level 3, one
// that was archived at level 19.
package cold
