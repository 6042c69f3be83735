// Package direct reads files past the system's cache, into memory that the
// caller keeps.
//
//	file    |  4 KiB  |  4 KiB  |  4 KiB  |
//	extent         [..............]
//	buffer  [      |==============|       ]   whole blocks around the extent
//
// What is read once and then used again and again by the program itself gains
// nothing from a second copy in the cache, which also takes memory that was
// promised to others. A [File] is opened with O_DIRECT where the file system
// has it. Elsewhere it is read as usual and the cache is asked to forget.
//
// Direct reads want offsets, lengths and addresses that are multiples of
// [Align]. [File.Read] takes any extent, of a file in any format: the buffer
// must hold the blocks around it, see [Span], and the answer is the part of
// the buffer that is the extent. Nothing is copied.
//
// Several reads must be in flight to use a disk in full. A [Queue] limits how
// many there are, whoever asks: beyond four large ones only latency grows.
package direct
