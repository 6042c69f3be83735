// Package engram is a memory of facts that is looked up by the last codes of a
// text, in a time that does not depend on its size (§9.6, [R-9.8]). Name and shape
// are those of X. Cheng et al., Conditional Memory via Scalable Lookup, arXiv
// 2601.07372.
//
//	rows, n := engram.Probes(codes, bits, &mul)   // eight rows, whatever the size
//	k, v, g := t.Rows(…)                           // what a port adds to its keys and values
//
//	Probes      the rows of a suffix: four hashes of two codes, four of three
//	Table       2^bits rows in half precision, in pages of package tier
//	Gate        W_k e as keys, g·W_v e as values, g by how well the state fits
//	ClosedBook  the loss that teaches the table: logits from its rows alone
//
//	codes … 84 72 69 ──▶ canonical: 116 104 101
//	                     2 codes │            │ 3 codes
//	                  probes 0–3 ▼            ▼ probes 4–7
//	table  [row] [row] [row] [row] [row] [row] [row] [row]
//	            W_k ──▶ keys      W_v, gate ──▶ values
//
// In inference the table is read-only. Its pages may lie on disk until the rows of
// a context are asked for [Table.Prefetch]. Training works on a copy in the float
// type of the tape.
package engram
