// Package kernel computes: matrix products with plain and quantized weights,
// norms, rotations, activations, softmax and attention over cached rows. It
// deals in rows, columns and strides and knows nothing of models.
//
//	Matrix   weights, row-major, any [Supports]ed element type
//	Form     how a product reads its activation rows: float32, or int8 blocks
//	Rows     cached keys or values of one attention head, in the caller's pages
//	Sums     partial attention of some queries over some of their positions
//
// # Two ways to multiply
//
// [MatMul] takes float32 activations and dequantizes weights on the fly: the
// precise path. [MatMulQ] takes rows that [Form.Prepare] has converted once for
// all products that read them; for quantized weights they are int8.
//
//	x float32 ── FormOf(w).Prepare ──▶ prepared rows ── MatMulQ ──▶ dst
//	          └───────────────── MatMul ───────────────────────────▶ dst
//
// # The order of additions
//
// An output is the sum over the columns of one weight row and one activation
// row. Its value does not depend on how many rows were requested, on which
// outputs, or on the thread. Products with float32 activations add the columns
// in sequence; products with int8 activations add in lanes that are then folded,
// [Lanes.Sum]:
//
//	float   fused multiply-adds of w[c]·x[c] from zero, c ascending; the sums of
//	        every 256 columns are added in order
//	int8    lane b of 8 adds, for the 32 columns from 256i+32b on,
//	        −m·Σx if the format has minima, then
//	        float(Σ w·x, exact in int32)·(sw·sx), i ascending to 7;
//	        the folds of every 2048 columns are added in order
//
// Formats with a scale for every 16 columns have 16 such lanes, [dotChunk].
// Attention adds the columns of a score, and the positions of a weighted value,
// in sequence, within spans of 256 positions that are merged in order. The
// portable Go functions are the specification: the assembly for AVX2 and AVX-512
// yields the same bits, which package kerneltest checks. The portable fused
// multiply-add is [FMA], exact on every machine.
//
// # Few rows and many
//
// Weights are packed once, [Matrix.Pack], in tiles of 16 interleaved rows, so
// that one vector holds four columns of every row and its lanes are the outputs
// (see The packed form). The multiplication broadcasts four activations to all
// lanes as it loads them, nothing is added across lanes, and one vector of
// scales serves 16 outputs. The lanes of the definition above
// become passes over the memory of a chunk: all blocks for b = 0, then for b =
// 1, and so on; the sums of each pass are stored and folded at the end. Prepared
// rows hold their cells, cache lines of 32 activations with their scale and
// sums, in the same order:
//
//	tile   │ scales │ pass 0: cell, cell … │ pass 1: cell, cell … │ …  chunk 1 …
//	row            │ pass 0: cell, cell … │ pass 1: cell, cell … │ …  chunk 1 …
//
// For up to 12 activation rows, 1 to 8 per call, codes are expanded to bytes in
// registers, and weights are prefetched twice, 8 KiB ahead into L2 and 2 KiB
// ahead into L1: a single row runs at memory bandwidth. For more rows, with
// AVX-512, eight tiles of 2048 columns are expanded to bytes and float32 scales,
// panels that stay in L2 while all activation rows are processed, twelve at a
// time; Q8_0 needs no expansion. The length of prepared rows is such that those
// twelve fall into different sets of L1.
//
// Weights that are not packed are unpacked in registers, row by row, for up to
// six activation rows, and packed into temporary panels for more.
//
// Products with float32 activations use tiles of 16 weight rows in which
// [Matrix.Pack] stores floats column by column; rows that are not packed are
// packed 256 columns at a time. Again a lane is an output:
//
//	              tile 0         tile 1
//	column 0    │ w0 … w15 │ │ w16 … w31 │ × x0[0] … x11[0], each in all lanes
//	column 1    │ w0 … w15 │ │ w16 … w31 │ × x0[1] … x11[1]
//	…             24 sums of 16 outputs
//
// For a single row up to four tiles are multiplied at once, so that additions do
// not wait for each other, and weights are prefetched. Half-precision weights
// are widened as they are loaded as long as memory is the bottleneck; for more
// than 48 rows they are widened once, four tiles of 256 columns, which stay in
// L2 while all rows are processed.
//
// Rounded to BF16, activations and BF16 weights are multiplied in pairs of columns,
// [MatMulPairs], by one instruction for two multiply-adds: encoders of images,
// which run as PyTorch does.
//
//	            packed      as rows       attention
//	F32 F16     assembly    assembly      assembly
//	BF16        assembly    assembly      –
//	Q8_0        assembly    assembly      assembly
//	Q4_0 Q4_1 Q5_0 Q5_1
//	IQ4_NL IQ4_XS MXFP4
//	Q2_K Q3_K Q4_K Q5_K Q6_K
//	            assembly    assembly      –
//	Q8_K F64    –           Go            –
//
// On arm64 the same assembly reads packed weights, including F32, F16 and BF16,
// and cached rows, of all types; weights that are not packed are packed into a
// buffer first. SDOT multiplies four columns of four rows, one register, by one
// lane of the activations; without it SMULL and SADALP do. Other functions of
// the package have assembly on both.
//
// # Attention
//
// Keys are stored so that a vector is one column of 16 keys, [Rows]; then a lane
// is a score, no lanes are added, and one load of keys serves eight queries,
// whose values are broadcast. Values are stored row by row, and one load of a
// row also serves eight queries. The queries are the query heads that share a
// key head and, in a prompt, several rows of them:
//
//	            16 keys                            32 columns
//	column 0  │ k0 … k15 │ × q0[0] … q7[0]   row 0 │ v0 … v31 │ × p0[0] … p7[0]
//	column 1  │ k0 … k15 │ × q0[1] … q7[1]   row 1 │ v0 … v31 │ × p0[1] … p7[1]
//	…           8 sums of 16 scores          …       8 sums of 32 values
//
// Functions do not allocate, except once when [Decisions] are measured, and are
// safe for concurrent use. Slices that are too short and types that [Supports]
// denies are programming errors: they panic before anything is read.
//
// # Where things are
//
//	matmul.go        drives products
//	gemm.go          defines the additions of products with float32 activations
//	pairs.go         of those with pairs of BF16
//	product.go       of those with int8 activations, packed.go of those with packed weights
//	form.go          converts activations to int8
//	unpack.go        reads blocks of a file;  pack.go interleaves them, packedblock.go the layout
//	fma.go           the exact fused multiply-add;  lanes.go sums with a defined order
//	attention.go     scores and weighted sums;  softmax.go the normalization between them
//	choice.go        chooses by measurement among implementations that differ only in speed
//	packed_amd64.go  chooses among products of tiles, product_amd64.go among those of rows
//	kernel_amd64.go  passes whole vectors to assembly, generated by tools/asm (go
//	                 generate), and the rest to the functions named Generic
//
// # The packed form
//
// An [UnpackedBlock] holds 256 columns of a row as integers, scales and minima,
// whether they come from a row of a file or from a packed [chunk]:
//
//	row of a file ── unpackBlock ──▶ UnpackedBlock       Q int8, S and M for 16 columns
//	16 rows ── Matrix.Pack ──▶ tile ── Chunk.Unpack ──▶ the same UnpackedBlock
//
// A packed matrix is a sequence of tiles of [TileRows] rows, the last padded with
// zeros. A tile is a sequence of chunks of [chunkCols] columns. A chunk has
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
// In Go: cases in unpackBlock, in [packingOf], in the functions that pack and
// unpack cells, and in [Supports]. In assembly: an entry of packedFormats in
// tools/asm/packed.go, one of formats in tools/asm/matvec.go and, for arm64, one
// of packings in tools/neon, whose machine words are annotated.
package kernel
