// Package pack keeps the packed form of a model's weights: the order of bytes
// in which kernels stream them, on pages of 2 MiB.
//
//	Store     all weights of an executor, and the memory of their packed form
//	Matrix    one of them: its rows as they came, or packed
//	Decision  where the packed form lives, and why
//	Disk      where it may be kept from one start to the next
//
// Nothing is packed when a model is opened. A worker that is about to multiply
// with some rows packs them first if nobody has, [Matrix.Range], so the first
// prompt pays, on all cores, while the bytes are in a cache anyway:
//
//	tile of 16 rows   source ──CAS──▶ taken ──Pack──▶ packed
//	matrix            when its last tile is packed: the source's memory is released
//
// Whoever finds a tile taken multiplies with the rows as they came. Products
// have the same bits either way, so nothing waits and nothing depends on who
// was first.
//
// The packed form can be kept in a file that is made once, when a model is
// opened, and mapped from then on, [Disk]. It belongs to these files of this
// model and to this version of the kernels: sizes and times of the files, the
// ends of every matrix and what the kernels pack a sample to must be the same,
// or it is made anew. Hashes of all bytes are there to be verified. It is
// written by package durable, so it is there whole or not at all. A mapped file
// has no huge pages, so memory is the faster place and disk the quicker start.
package pack
