// Package weights makes the tensors that a plan names from those of a model
// file, following the recipes of package compile.
//
//	file tensors ── joined ── transforms ── fit for kernels ──▶ map by plan name
//
// Most weights need nothing and stay views of the mapped file: opening a model
// touches none of its bytes. Transforms that move whole rows work on any
// element type, block formats included, because blocks run along the rows; the
// rest convert to float32 first, which a diagnostic says. Vectors (norms,
// biases) always come as aligned float32, so that no kernel has a case for
// small tensors of other types.
package weights
