package cpu

import "github.com/klauspost/cpuid/v2"

// HasDotProd reports support for SDOT, the int8 dot product.
func HasDotProd() bool { return cpuid.CPU.Supports(cpuid.ASIMDDP) }
