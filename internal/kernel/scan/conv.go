package scan

import "atenia/internal/kernel/dense"

// Convolve writes one row of a causal depthwise convolution, bias + Σ taps[j]⊙x[j],
// where x are rows of the same channels, nil before the first row, and taps their
// weights. A nil bias is zero.
func Convolve[F dense.Float](dst, bias []F, taps, x [][]F) {
	if bias != nil {
		copy(dst, bias)
	} else {
		clear(dst)
	}
	for j, row := range x {
		if row != nil {
			dense.AddMul(dst, taps[j], row)
		}
	}
}
