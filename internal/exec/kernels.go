package exec

import "atenia/internal/kernel"

// Kernels names the variant of kernels that this machine computes with, such as "avx2".
// Results of different ones may differ in their last bits.
func Kernels() string { return kernel.Variant() }
