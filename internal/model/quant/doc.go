// Package quant converts block-quantized weights to float32 and back.
//
//	Dequantize   bytes → values, exact to the last bit
//	Quantize     values → bytes, with or without importance weights
//	Mix          which element type each tensor of a model gets: "q4_k_m"
//
// The package deals in bytes, values and tensor names, not in files or kernels;
// internal/kernel computes on blocks without unpacking them and is tested
// against this package.
//
// # Formats
//
// The last column but one gives a value as a function of the digit q. With two
// levels of scales the scale is a product: d·s, where d is the block's and s a
// small integer for a run of values. "bits" counts everything, including scales.
// "written" says whether [Quantize] supports the type.
//
//	type     bits   block  run  value                               written
//	F32      32         1       v                                   yes
//	F16      16         1       v                                   yes
//	BF16     16         1       v                                   yes
//	F64      64         1       v, rounded                          no
//	I8…U64   8…64       1       v, rounded                          no
//	Bool      8         1       0 or 1                              no
//	F8_E4M3   8         1       v (OCP "fn": no infinities)         no
//	F8_E5M2   8         1       v                                   no
//	Q4_0     4.5       32       d·(q-8)                             yes
//	Q4_1     5         32       d·q + m                             yes
//	Q5_0     5.5       32       d·(q-16)                            yes
//	Q5_1     6         32       d·q + m                             yes
//	Q8_0     8.5       32       d·q                                 yes
//	Q8_1     9         32       d·q, and d·Σq is stored too         yes
//	Q2_K     2.625    256   16  d·s·q - dmin·m, s and m of 4 bits   yes
//	Q3_K     3.4375   256   16  d·s·(q-4), s of 6 bits, signed      yes
//	Q4_K     4.5      256   32  d·s·q - dmin·m, s and m of 6 bits   yes
//	Q5_K     5.5      256   32  d·s·q - dmin·m, s and m of 6 bits   yes
//	Q6_K     6.5625   256   16  d·s·(q-32), s of 8 bits, signed     yes
//	Q8_K     9.125    256       d·q, d a float32, Σq of every 16    yes
//	IQ4_NL   4.5       32       d·codebook[q]                       yes
//	IQ4_XS   4.25     256   32  d·s·codebook[q], s of 6 bits        yes
//	MXFP4    4.25      32       2^e·codebook[q]                     yes
//	IQ1_S    1.5625   256   32  d·s·(grid1[q] ± ⅛), 8 at a time     no
//	IQ1_M    1.75     256   16  d·s·(grid1[q] ± ⅛), 8 at a time     no
//	IQ2_XXS  2.0625   256   32  ±d·s·grid2xxs[q], 8 at a time       no
//	IQ2_XS   2.3125   256   16  ±d·s·grid2xs[q], 8 at a time        no
//	IQ2_S    2.5625   256   16  ±d·s·grid2s[q], 8 at a time         no
//	IQ3_XXS  3.0625   256   32  ±d·s·grid3xxs[q], 4 at a time       no
//	IQ3_S    3.4375   256   32  ±d·s·grid3s[q], 4 at a time         no
//	TQ1_0    1.6875   256       d·(q-1), five digits in a byte      yes
//	TQ2_0    2.0625   256       d·(q-1), four digits in a byte      yes
//
// The most intricate packing is that of the scales of Q4_K and Q5_K: eight
// scales s and eight minima m, six bits each, in twelve bytes. The upper four
// keep their top two bits in the spare bits of the lower four:
//
//	         bit 7 6   5 4 3 2 1 0
//	byte 0   s4 5:4 │ s0 ─────────     bytes 0–3: s0 s1 s2 s3
//	byte 4   m4 5:4 │ m0 ─────────     bytes 4–7: m0 m1 m2 m3
//	            bit 7 6 5 4   3 2 1 0
//	byte 8      m4 3:0 ──── │ s4 3:0   bytes 8–11: s4 s5 s6 s7, m4 m5 m6 m7
//
// Layouts are those of ggml-common.h; MXFP4 and the 8-bit floats follow the OCP
// specifications.
//
// # How values are chosen
//
// Without importance weights Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q8_1, Q8_K, TQ1_0,
// TQ2_0 and MXFP4 follow the plain rule of ggml's reference functions, byte for
// byte. The others minimize Σ w·(x-y)², w = importance·√(σ²+x²): each run is
// fitted separately by trying scales and solving for the best one given the
// digits, the fits are rounded to the block's scale, and then the integers and
// the block's scale are improved alternately. A candidate is accepted only if it
// lowers the error after rounding.
//
// # Packed folders
//
// [Read] reads weights that other tools quantized and stored as several
// safetensors for each matrix.
//
//	quantization_config ─┐
//	                     ├─ Read ▶ Folder: one Tensor for each matrix, in a type
//	stored tensors ──────┘         that Atenia computes with, made row by row
//
// A matrix has the name that the unquantized folder gives it, so that nothing
// above this knows of packing. Which modules are quantized follows from
// the tensors that are there; the configuration says how.
//
// # Methods
//
//	method               tensors of one matrix X                        becomes
//	gptq, auto-round     X.qweight qzeros scales g_idx                  blocks, or the scales' type
//	awq                  X.qweight qzeros scales                        blocks, or the scales' type
//	compressed-tensors   X.weight_packed weight_shape weight_scale …    blocks, or the scales' type
//	  integers           X.weight I8, weight_scale                      blocks, or the scales' type
//	  floats             X.weight F8_E4M3, weight_scale                 the scales' type
//	  NVFP4              X.weight_packed weight_scale …_global_scale    the model's type
//	  MXFP4              X.weight_packed weight_scale                   MXFP4, exact
//	fp8, fbgemm-fp8      X.weight F8_E4M3, weight_scale(_inv)           the scales' type
//	modelopt             X.weight weight_scale (weight_scale_2)         the model's type
//	mxfp4 (gpt-oss)      X_blocks X_scales                              X.weight MXFP4, exact
//	bitsandbytes         X.weight weight.absmax … or X.weight SCB       the type that was quantized
//
// "Blocks" are Q4_0 or Q8_0, if they hold all matrices of the folder exactly: see
// addAffine. They do unless columns were reordered or scales are out of range of
// float16; then, and for floats, values are rounded as the references round
// them, to the type of 16 bits that the scales have, or to the model's.
//
// Configurations and tensors are untrusted: every shape is checked against the
// others before a byte is read. A method that is not in the table is left as it
// is stored, and package compile refuses it by name.
package quant
