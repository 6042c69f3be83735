// Package sequence keeps cached keys and values in files: the states of a sequence of
// tokens, page by page, so that a later process continues where one ended.
//
//	Header   what a file holds: model, tokens, which pages of which states
//	Reader   an open file, whose header was checked; pages are checked as they are read
//	Folder   many files within a number of bytes, found by the hash of their tokens
//
// A file is little-endian:
//
//	 0  8   "ATENIAKV"
//	 8  4   version, 1
//	12  4   bytes of the header, H
//	16  16  key: what the pages depend on beside the tokens
//	32  4   span: longest length that the sequence was computed for
//	36  4   tokens, T
//	40  4   runs, R
//	44  4T  tokens
//	    20R runs: state, first page, pages, tokens that they are of, bytes of a page
//	    4P  CRC-32C of each page, in the order of the runs
//	H−4 4   CRC-32C of the header so far
//	H       the pages, one after the other
//
// Whoever reads a file compares the key, the tokens themselves and the sums: a hash in
// a file's name only says where to look. A file is written under a temporary name,
// synced and renamed, so that one with a final name is whole, at whatever point the
// process or the machine stopped. Prompts can be read from the tokens: files have mode
// 0600, and folders that are made 0700.
//
// A folder may be used by several processes and models at a time. Its files share one
// limit; those that were not used for longest are removed, the ends of sequences before
// their beginnings.
package sequence
