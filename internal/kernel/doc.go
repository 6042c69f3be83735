// Package kernel computes: matrix products with plain and quantised weights,
// norms, rotations, activations, softmax and attention over cached rows. It
// speaks of rows, columns and strides and knows nothing of models.
//
//	Matrix   weights, row-major, any [Supports]ed element type
//	Form     how a product reads its activation rows: float32, or int8 blocks
//	Rows     cached rows of one attention head inside memory owned by others
//
// # Two ways to multiply
//
// [MatMul] takes float32 activations and dequantises weights on the fly: the
// precise path. [MatMulQ] takes rows that [Form.Prepare] has written once for
// all products that read them; for quantised weights they are int8.
//
//	x float32 ── FormOf(w).Prepare ──▶ prepared rows ── MatMulQ ──▶ dst
//	          └───────────────── MatMul ───────────────────────────▶ dst
//
// # The order of additions
//
// One output is the sum over the columns of one weight row and one activation
// row, and its value never depends on how many rows were asked for, on which
// outputs, or on the thread that did it. Every product adds in 16 lanes and
// then folds them, [lanes.sum]:
//
//	float   lane l adds w[16i+l]·x[16i+l] by fused multiply-add, i ascending
//	int8    lane l adds float(Σ of 4 products, exact in int32)·(sw·sx),
//	        where the 4 columns are 64i+4l … 64i+4l+3, i ascending
//
// The portable Go functions say so and are the specification: the assembly
// for AVX2 and AVX-512 yields the same bits, which package kerneltest checks.
// A portable fused multiply-add is [fma32], exact on every machine.
//
// # Unpacking
//
// Every block format is Σ s·q − m with q in int8, so one function for each
// format, unpack, writes those three for 256 columns, and all products are
// made of it: four weight rows are unpacked into L1 and multiplied with up to
// 64 activation rows. Decoding has one activation row, memory is the limit,
// and unpacking would cost: formats with a fused assembly product, matVec,
// unpack in registers instead and ask for memory 8 KiB ahead, which is worth
// half as much bandwidth again. A layout packed at load would be one more
// source of wBlocks and one more matVec.
//
//	            fused row   unpacked by   attention
//	F32 F16     assembly    –             assembly
//	BF16        assembly    –             –
//	Q8_0        assembly    assembly      assembly
//	Q4_0 Q5_0 IQ4_NL IQ4_XS
//	Q2_K Q3_K Q4_K Q5_K Q6_K
//	            assembly    assembly      –
//	Q4_1 Q5_1 Q8_K MXFP4 F64
//	            –           Go            –
//
// Functions do not allocate and may be called from many goroutines at once.
// Slices that are too short fail a bounds check before anything is read; a
// type that [Supports] denies is such a mistake of the caller too.
//
// # Where things are
//
// matmul.go drives products, tile.go says how they add, unpack.go how formats
// unpack, form.go how activations become int8. kernel_amd64.go gives whole
// vectors to assembly, made by _asm (go generate), and the rest to the
// functions named Generic. To add a format in Go: a case in unpackGeneric and
// in [Supports]; in assembly: an entry of formats in _asm/matvec.go.
package kernel
