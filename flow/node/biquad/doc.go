// Package biquad holds the second-order filter.
//
//	f0, q, gain_db ──design, float64──▶ b0 b1 b2 a1 a2 ──▶ y = b0 x + s1
//	                                                      s1 = b1 x − a1 y + s2
//	                                                      s2 = b2 x − a2 y
//
// Constant parameters are designed once, and rows of all batches and channels
// run side by side, including those of fused nodes. Parameters with a value per
// frame are designed frame by frame.
//
// Backward, the gradients of constant coefficients are summed over the whole
// stream and pass through the derivative of the design once; the others pass
// through it frame by frame.
package biquad
