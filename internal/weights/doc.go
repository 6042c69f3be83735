// Package weights makes the tensors that a plan names from those of a model
// file, following the recipes of package compile.
//
//	file tensors ── joined ── transforms ── fit for kernels ──▶ map by plan name
//
// Most weights need no change and stay views of the mapped file: opening a model
// touches none of their bytes. Transforms that move whole rows work on any
// element type, including block formats, because blocks run along the rows;
// other transforms convert to float32 first, which a diagnostic reports. Vectors
// (norms, biases) are always aligned float32, so that no kernel needs a case for
// small tensors of other types.
package weights
