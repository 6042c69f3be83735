// Package direct reads files with direct I/O, bypassing the page cache, into
// memory owned by the caller.
//
//	file    |  4 KiB  |  4 KiB  |  4 KiB  |
//	extent         [..............]
//	buffer  [      |==============|       ]   whole blocks around the extent
//
// A program that reads bytes once and keeps them gains nothing from a second
// copy in the page cache, which takes memory needed elsewhere. A [File] is
// opened with O_DIRECT if the file system supports it. Otherwise it is read as
// usual and its pages are dropped from the cache.
//
// Direct reads require offsets, lengths and addresses that are multiples of
// [Align]. [File.Read] accepts any extent: the buffer must hold the blocks
// around it, see [Span], and the result is the slice of the buffer with the
// extent. Nothing is copied.
//
// Several reads must be in flight to saturate a disk. A [Queue] limits their
// number across all callers: beyond four large ones only latency grows.
package direct
