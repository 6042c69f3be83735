// Package blob keeps the bytes of tensors in files.
//
//	Store   one file for each tensor on the SSD, tensor_ID.bin
//	Cache   entries that outlive the process, by kind and key
//	Codec   how the bytes of a file are encoded: None, Rle, …
//
// An entry of a cache is two or three files:
//
//	tensor/KEY.bin    the bytes
//	tensor/KEY.meta   kind, length, FNV-1a checksum, time: text
//	tensor/KEY.sum    sidecar: owner, codec, version, strong checksums: text
//
// Entries without a sidecar, written by other programs, are verified by the
// checksum in .meta. An id whose file name would collide with another's gets a
// suffix derived from the id, and the sidecar names the owner of the file.
//
// Files are never modified in place: a new file is renamed to its final name
// once it is complete and on disk. One file may therefore be a tensor's blob and
// a cache entry at the same time, and a kill at any point leaves either the old
// entry or the new one.
package blob
