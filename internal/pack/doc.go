// Package pack keeps the packed form of a model's weights: the order of bytes
// in which kernels stream them, on pages of 2 MiB.
//
//	Store     all weights of an executor, and the memory of their packed form
//	Matrix    one of them: its rows as they came, or packed
//	Decision  where the packed form lives, and why
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
package pack
