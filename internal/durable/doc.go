// Package durable replaces files so that a reader, or the next start after a
// power cut, finds the old content or the new, and never a part of either.
//
//	create .NAME.tmp-RANDOM in the same folder
//	write, sync       the bytes are on the disk under the temporary name
//	rename            the name points to the new bytes, at once
//	sync the folder   the name is on the disk
//
// The order is the one that SQLite and LevelDB rely on: a rename may only be
// seen after what it names. A fault or a kill before the rename leaves the old
// file; what a killed process leaves behind is a file whose name starts with
// ".NAME.tmp-", which no reader looks at.
//
// All of it goes through an [FS], the calls that a program makes to keep its
// files. A package that writes files takes one in its configuration, where nil
// is the operating system's; its tests pass one of faultfs, which fails at the
// n-th call, and look at what is left for all n.
//
// Programs that share files exclude each other with [Lock].
package durable
