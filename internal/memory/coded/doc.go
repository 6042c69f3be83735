// Package coded keeps the float weights of a model compressed in a file, from
// which a ring streams them if that is faster than to read the model's files.
//
//	page 0…      chunk of a weight, chunk, …    each at a multiple of a page
//	end          index: JSON                    names, codecs, extents, checksums
//	last bytes   version, source, extent and checksum of the index
//
// A chunk decodes to [ChunkBytes], the last one of a weight to fewer, and can be
// read and decoded by itself. The file is written by package durable, at once,
// and belongs to files of a model with certain sizes and times; for any others,
// and after damage, it is not used.
package coded
