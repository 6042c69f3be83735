// Package durable replaces files atomically: a reader, or the next start after a
// power failure, finds either the old content or the new.
//
//	create .NAME.tmp-RANDOM in the same directory
//	write, sync          the bytes are on disk under the temporary name
//	rename               the name refers to the new bytes, atomically
//	sync the directory   the name is on disk
//
// SQLite and LevelDB rely on the same order: a rename must not become durable
// before the content. A fault or a kill before the rename leaves the old file; a
// killed process leaves a file whose name starts with ".NAME.tmp-", which
// readers ignore and the next writer of NAME removes: writers hold the lock of theirs.
// [TempFile] and [TempDir] make other temporaries, with the same rule.
//
// All operations go through an [FS]. A package that writes files takes one in
// its configuration, where nil is the operating system's; its tests pass one of
// faultfs, which fails at the n-th call, and check what is left for all n.
//
// What is read may be anything: [OpenRegular] refuses pipes and devices in the place of
// a file, which would block the program, and [ReadRegular] files that are larger than
// one of their kind can be.
//
// Programs that share files exclude each other with [Lock].
//
// # Direct reads
//
// A [DirectFile] is read with direct I/O, bypassing the page cache, into
// memory owned by the caller.
//
//	file    |  4 KiB  |  4 KiB  |  4 KiB  |
//	extent         [..............]
//	buffer  [      |==============|       ]   whole blocks around the extent
//
// A program that reads bytes once and keeps them gains nothing from a second
// copy in the page cache, which takes memory needed elsewhere. A [DirectFile] is
// opened with O_DIRECT if the file system supports it. Otherwise it is read as
// usual and its pages are dropped from the cache.
//
// Direct reads require offsets, lengths and addresses that are multiples of
// [Align]. [DirectFile.Read] accepts any extent: the buffer must hold the blocks
// around it, see [span], and the result is the slice of the buffer with the
// extent. Nothing is copied.
//
// Several reads must be in flight to saturate a disk. A [Queue] limits their
// number across all callers: beyond four large ones only latency grows.
package durable
