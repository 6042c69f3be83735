// Package packed reads weights that other tools quantized and stored as several
// safetensors for each matrix.
//
//	quantization_config ─┐
//	                     ├─ Read ▶ Folder: one Tensor for each matrix, in a type
//	stored tensors ──────┘         that Atenia computes with, made row by row
//
// A matrix has the name that the unquantized folder gives it, so that nothing
// above this package knows of packing. Which modules are quantized follows from
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
package packed
