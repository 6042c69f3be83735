// Package block holds the block formats of quantised weights: how 256 columns of
// a row of a file become integers, scales and minima, [Unpack], and how 16 rows
// are interleaved for products that stream them, [Pack].
//
//	row of a file ── Unpack ──▶ Weights       Q int8, S and M for 16 columns
//	16 rows ── Pack ──▶ tile ── Chunk.Unpack ──▶ the same Weights
//
// # The packed form
//
// A matrix is a sequence of tiles of [TileRows] rows, the last padded with
// zeros. A tile is a sequence of chunks of [ChunkCols] columns. A chunk has
// three parts, each of whole cache lines, in the order in which one activation
// row needs them:
//
//	┌ of 256 columns ──┬ scales of cells ─────┬ codes of cells ───────────────┐
//	│ d, dmin of rows  │ cell 0, cell 1, …    │ cell 0      │ cell 1      │ … │
//	└──────────────────┴──────────────────────┴───────────────────────────────┘
//
// A cell is 32 columns of the 16 rows. Products sum columns 0 to 31 of every
// block of 256 first, then columns 32 to 63, and so on; cells are stored in that
// order, so that memory is read sequentially. Groups that a shorter last block
// lacks have no cell. Within a cell, a word of a 64-byte vector is four columns
// of a row, and its sixteen words are the rows:
//
//	bytes (Q8_0, plus 128), 8 vectors, vector k:
//	    row 0: columns 4k…4k+3 │ row 1: 4k…4k+3 │ … │ row 15: 4k…4k+3
//	nibbles, 4 vectors, vector k:
//	    low half of each byte: columns 4k…4k+3, high half: 4k+16…4k+19
//	pairs of bits (Q2_K, the upper bits of Q6_K), 2 vectors, vector v:
//	    bits 2j and 2j+1 of each byte: columns 16v+4j…16v+4j+3
//	fifth and third bits, 1 vector:
//	    bit j of each byte: columns 4j…4j+3
//
// So a mask and at most one shift yield the operand of a product. Scales are in
// the order of the rows and as short as in the file, except that 6 bits become a
// byte:
//
//	                     for 256 columns   for a cell
//	Q8_0 Q4_0 Q5_0 IQ4_NL                  16 halves
//	Q4_1 Q5_1                              16 halves, 16 minima negated
//	MXFP4                                  16 exponents
//	IQ4_XS               16 halves         16 bytes
//	Q4_K Q5_K            16 + 16 halves    16 bytes, 16 minima
//	Q6_K Q3_K            16 halves         2 × 16 bytes, for 16 columns each
//	Q2_K                 16 + 16 halves    2 × 16 bytes of two nibbles
//
// # To add a format
//
// In Go: cases in [Unpack], in [PackingOf], in the functions that pack and
// unpack cells, and in kernel.Supports. In assembly: an entry of packedFormats
// in tools/asm/packed.go, one of formats in tools/asm/matvec.go and,
// for arm64, one of packings in tools/neon, whose machine words are
// annotated.
package block
