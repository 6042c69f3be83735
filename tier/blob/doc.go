// Package blob keeps the bytes of tensors in files.
//
//	Store   one file for each tensor that lives on the SSD, tensor_ID.bin
//	Cache   entries that outlive the process, by kind and key
//	Codec   how the bytes of a file are encoded: None, Rle, …
//
// An entry of a cache is two or three files:
//
//	tensor/KEY.bin    the bytes
//	tensor/KEY.meta   kind, length, FNV-1a checksum, time: text
//	tensor/KEY.sum    sidecar: owner, codec, version, strong checksums: text
//
// Entries without a sidecar, which others wrote, are read by their checksum.
// Ids whose file names would be those of other ids get a suffix made from the
// id, and the sidecar says whose bytes a file holds.
//
// Files are never changed in place: a new one gets the name when it is whole
// and on the disk. So one file may be a tensor's blob and a cache's entry at
// the same time, and a kill at any point leaves the old entry or the new.
package blob
