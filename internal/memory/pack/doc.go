// Package pack keeps the packed form of a model's weights: in the order in which
// kernels stream them, on pages of 2 MiB.
//
//	Store     all weights of an executor, and the memory of their packed form
//	Matrix    one of them: in the file's layout, or packed
//	Decision  where the packed form is kept, and why
//	Disk      where it is kept between runs
//
// Packing is lazy. A worker about to multiply with some rows packs them first
// unless that has been done, [Matrix.Range], so that the first prompt pays for
// it, on all cores, while the bytes are in the processor's cache anyway:
//
//	tile of 16 rows   source ──CAS──▶ taken ──Pack──▶ packed
//	matrix            when its last tile is packed: the source's memory is released
//
// If another worker is packing a tile, the rows are read in the file's layout.
// Products have the same bits either way, so nothing waits and results do not
// depend on timing.
//
// Weights that stay in memory while others are streamed are packed where they are,
// [Store.OpenHeld], if the packed form is no larger: the budget has no room for two.
//
// The packed form can be kept in a file that is written once, when a model is
// opened, and then mapped, [Disk]. It is valid for these files of the model and
// this version of the kernels: it is rewritten unless the sizes and times of the
// files, the ends of every matrix and a packed sample match. Hashes of all bytes
// can be verified. It is written by package durable, atomically. A mapped file
// has no huge pages, so memory is faster and disk starts quicker.
package pack
